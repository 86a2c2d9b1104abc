// machine_module.mjs: for machines.sh: runs a program of WASI with its arguments, or trains with the module of a library.
import { readFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { WASI } from 'node:wasi';

const [file, ...rest] = argv.slice(2);
const wasi = new WASI({ version: 'preview1', args: [file, ...rest], preopens: { '.': '.' } });
const module = await WebAssembly.compile(readFileSync(file));
const { exports: w } = await WebAssembly.instantiate(module, wasi.getImportObject());
if (w._start) exit(wasi.start({ exports: w }));

wasi.initialize({ exports: w });
const bytes = w.mlp_bytes(0);
const m = w.mlp_open(w.aligned_alloc(64, bytes), bytes, 0, 0);
const features = w.aligned_alloc(64, 64), targets = w.aligned_alloc(64, 64), given = w.aligned_alloc(64, 64), out = w.aligned_alloc(64, 64);
new Float32Array(w.memory.buffer, features, 16).set([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0]);
new Int32Array(w.memory.buffer, targets, 4).set([0, 1, 2, 1]);
new Int32Array(w.memory.buffer, given, 2).set([features, targets]);
const losses = [];
for (let k = 0; k < 50; k++) {
    if (w.mlp_step(m, given, out)) exit(1);
    losses.push(new Float64Array(w.memory.buffer, out, 1)[0]);
}
exit(w.mlp_steps(m) === 50n && losses[49] < 0.75 * losses[0] ? 0 : 1);
