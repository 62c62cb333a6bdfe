import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A command line that a script would run. */
export interface Rehearsed {
  /** The number of the script, from 0. */
  readonly script: number;
  readonly program: 'portcullis' | 'npm';
  readonly args: readonly string[];
}

/**
 * The stage: a shell that reads as people's do, finds no program but its own words, and writes down what `portcullis`
 * and `npm` would be given. `sudo` and `docker compose run` hand on what they are to run.
 */
const STAGE = `
PATH=; said=$PWD/said
say() { printf '%s\\0' "$script" "$(($# - 1))" "$@" >>"$said"; }
portcullis() { say portcullis "$@"; }
npm() { say npm "$@"; }
./portcullis() { portcullis "$@"; }
sudo() { while case $1 in *=*) ;; *) false;; esac; do shift; done; "$@"; }
timeout() { while case $1 in -*) ;; *) false;; esac; do shift; done; shift; "$@"; }
docker() {
  while [ $# -gt 0 ] && [ "$1" != control-1 ]; do shift; done
  [ $# -eq 0 ] || { shift; portcullis "$@"; }
}
cat() { if [ $# -eq 0 ]; then while IFS= read -r line; do printf '%s\\n' "$line"; done; fi; }
command_not_found_handle() { :; }
`;

/**
 * Words that the shell makes of scripts, one after the other in one shell as on one terminal: each `portcullis` and
 * `npm` that they would run, with its words as the shell splits and expands them. Nothing else is run. Throws if the
 * shell cannot read one.
 */
export function rehearse(scripts: readonly string[]): Rehearsed[] {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-rehearse-'));
  try {
    const named = scripts.map((text, index) => {
      const file = join(folder, `${index}.sh`);
      writeFileSync(file, text);
      return `script=${index}; . ${file}; wait`;
    });
    writeFileSync(join(folder, 'said'), '');
    chmodSync(folder, 0o700);
    const { status, stderr } = spawnSync('bash', ['-c', `${STAGE}\n${named.join('\n')}\ntrue`], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 20_000,
    });
    if (status !== 0 || /syntax error|unexpected/.test(stderr)) throw new Error(stderr);
    return parseSaid(readFileSync(join(folder, 'said'), 'utf8'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function parseSaid(said: string): Rehearsed[] {
  const words = said.split('\0');
  const found: Rehearsed[] = [];
  for (let at = 0; at + 1 < words.length; ) {
    const count = Number(words[at + 1]);
    const from = at + 3;
    const program = words[at + 2] === 'npm' ? 'npm' : 'portcullis';
    found.push({ script: Number(words[at]), program, args: words.slice(from, from + count) });
    at = from + count;
  }
  return found;
}
