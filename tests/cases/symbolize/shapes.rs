// SPDX-License-Identifier: MIT
// shapes.rs - generics, closures and trait objects, to have Rust frames of all kinds.
use std::collections::HashMap;

trait Speak {
    fn speak(&self, times: usize) -> String;
}

struct Dog {
    name: String,
}

impl Speak for Dog {
    fn speak(&self, times: usize) -> String {
        (0..times).map(|i| format!("{}{}", self.name, i)).collect::<Vec<_>>().join(",")
    }
}

fn table<T: Speak + ?Sized>(speaker: &T, size: usize) -> HashMap<usize, String> {
    let mut table = HashMap::new();
    for i in 0..size {
        table.insert(i, speaker.speak(i));
    }
    table
}

fn main() {
    let dog = Dog { name: std::env::args().next().unwrap() };
    let boxed: Box<dyn Speak> = Box::new(Dog { name: "x".into() });
    let total = table(boxed.as_ref(), 7).values().map(|s| s.len()).sum::<usize>();
    println!("{} {}", table(&dog, 5).len(), total);
}
