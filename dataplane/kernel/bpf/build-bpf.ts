import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { artifactOf, type BpfArtifact, digestOf } from './bpf-artifact.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const INCLUDES = [`/usr/include/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`];
const FLAGS = ['-O2', '-target', 'bpf', '-mcpu=v3', '-Wall', '-Wextra', '-Werror'];

/** The BPF sources of this repository. The artifact of `x.bpf.c` is `x.bpf.json` next to it. */
export function bpfSources(): string[] {
  return globSync('{dataplane,lab}/**/*.bpf.c', {
    cwd: ROOT,
    exclude: (path) => path.includes('node_modules'),
  })
    .toSorted()
    .map((path) => join(ROOT, path));
}

export function artifactPath(source: string): string {
  return source.replace(/\.c$/, '.json');
}

/** The digest of the source and the headers in its folder, which reveals an outdated artifact without a compiler. */
export function sourceDigest(source: string): string {
  const headers = globSync('*.h', { cwd: dirname(source) }).toSorted();
  const files = [basename(source), ...headers];
  return digestOf(files.map((file) => readFileSync(join(dirname(source), file), 'utf8')));
}

/** Returns null without clang. */
export function compilerVersion(): string | null {
  try {
    const [line = ''] = execFileSync('clang', ['--version'], { encoding: 'utf8' }).split('\n');
    return line;
  } catch {
    return null;
  }
}

/** Throws with the compiler's message. */
export function buildArtifact(source: string, compiler: string): BpfArtifact {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bpf-'));
  try {
    const object = join(folder, 'object.o');
    const includes = INCLUDES.map((path) => `-I${path}`);
    execFileSync('clang', [...FLAGS, ...includes, '-c', source, '-o', object], {
      stdio: 'inherit',
    });
    return artifactOf(readFileSync(object), compiler, sourceDigest(source));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function main(): void {
  const compiler = compilerVersion();
  if (compiler === null) throw new Error('clang is not installed (Debian: clang, libbpf-dev)');
  for (const source of bpfSources()) {
    const artifact = buildArtifact(source, compiler);
    writeFileSync(artifactPath(source), `${JSON.stringify(artifact, null, 2)}\n`);
    for (const [name, { instructions }] of Object.entries(artifact.programs)) {
      const count = Buffer.from(instructions, 'base64').length / 8;
      console.log(`${basename(source)}: ${name}, ${count} instructions`);
    }
  }
}

if (import.meta.main) main();
