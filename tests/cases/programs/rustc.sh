# SPDX-License-Identifier: MIT
# rustc, which brings no malloc of its own in Debian, compiles with threads.
rustc=/usr/bin/rustc
[ -x $rustc ] || rustc=$(command -v rustc) || skip "no rustc"
# A rustup proxy would look for its tools below $HOME: take the compiler itself.
sysroot=$($rustc --print sysroot 2>/dev/null) || skip "rustc does not run"
[ ! -x "$sysroot/bin/rustc" ] || rustc=$sysroot/bin/rustc
mkdir "$TMP/input"
echo "rustc=$rustc" >"$TMP/input/which"
. "$SRC/tests/lib/program.sh"
same_as_plain sampled verify <<'END'
. ./which
cat >one.rs <<'R'
use std::collections::HashMap;
use std::thread;
#[derive(Debug, Clone)]
struct Item { name: String, sizes: Vec<u64> }
fn work(n: u64) -> u64 {
    let mut m: HashMap<String, Item> = HashMap::new();
    for i in 0..n {
        let e = m.entry(format!("k{}", i % 97)).or_insert_with(|| Item { name: format!("n{}", i), sizes: vec![] });
        e.sizes.push(i);
    }
    m.values().map(|i| i.sizes.iter().sum::<u64>() + i.name.len() as u64).sum()
}
fn main() {
    let t: Vec<_> = (1..5).map(|i| thread::spawn(move || work(i * 1009))).collect();
    let s: Vec<u64> = t.into_iter().map(|t| t.join().unwrap()).collect();
    println!("{:?}", s);
}
R
$rustc -O -C codegen-units=2 one.rs -o one && ./one
echo 'fn main() { let x: u32 = "a"; }' >bad.rs
$rustc --color never bad.rs -o bad
echo "status $?"
END
