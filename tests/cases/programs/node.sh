# SPDX-License-Identifier: MIT
# node with worker threads, child processes, buffers.
need node
. "$SRC/tests/lib/program.sh"
same_as_plain sampled verify often <<'END'
cat >all.js <<'J'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { execFileSync, fork } = require('child_process');
const zlib = require('zlib');
const crypto = require('crypto');
if (isMainThread && process.argv[2] !== 'child') {
  const data = Array.from({ length: 5003 }, (_, i) => ({ id: i, name: 'n' + i, list: Array(i % 23).fill(i) }));
  const text = JSON.stringify(data);
  console.log('json', crypto.createHash('sha1').update(text).digest('hex'));
  console.log('zlib', zlib.gunzipSync(zlib.gzipSync(text)).length);
  let left = 4;
  const results = [];
  for (let i = 1; i <= 4; i++) {
    const w = new Worker(__filename, { workerData: i });
    w.on('message', (m) => results.push(m));
    w.on('exit', (code) => {
      if (code) console.log('worker', i, code);
      if (--left === 0) {
        console.log('workers', results.sort((a, b) => a - b).join(' '));
        console.log('child', execFileSync(process.execPath, [__filename, 'child']).toString().trim());
      }
    });
  }
} else if (isMainThread) {
  console.log(Buffer.alloc(1000003, 7).reduce((a, b) => a + b, 0));
} else {
  const a = [];
  for (let i = 0; i < 20011; i++) a.push(Buffer.from('x'.repeat((i * workerData) % 1009)));
  parentPort.postMessage(a.reduce((s, b) => s + b.length, 0));
}
J
node all.js
echo "status $?"
node -e 'throw new Error("as it should")' 2>&1 | grep -c 'as it should'
END
