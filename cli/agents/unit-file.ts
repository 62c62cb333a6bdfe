import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { failed } from '@portcullis/caller/exit.ts';

const UNITS = '/etc/systemd/system';
/** Exists while systemd runs this host, see sd_booted(3). In an image that is being built, links are enough. */
const RUNS_SYSTEMD = '/run/systemd/system';

/** Whether units could be installed and would run. */
export function hasSystemd(): boolean {
  return existsSync(UNITS) && existsSync(RUNS_SYSTEMD);
}

/** A unit of systemd on this host. */
export class UnitFile {
  readonly name: string;
  readonly path: string;

  constructor(name: string) {
    this.name = name;
    this.path = join(UNITS, name);
  }

  /** Writes and enables it; an identical unit is not written again. With `now` it is also started, or started again. */
  install(text: string, { now = false } = {}): void {
    if (!existsSync(UNITS)) throw failed(`${UNITS} does not exist: this host has no systemd`);
    if (this.#read() !== text) this.#write(text);
    this.#reload();
    systemctl('enable', this.name);
    if (now && existsSync(RUNS_SYSTEMD)) systemctl('restart', this.name);
  }

  /** Stops, disables and removes it. Returns false if there is none. */
  uninstall({ now = false } = {}): boolean {
    if (this.#read() === null) return false;
    if (now && existsSync(RUNS_SYSTEMD)) systemctl('stop', this.name);
    systemctl('disable', this.name);
    this.#attempt('removed', () => rmSync(this.path));
    this.#reload();
    return true;
  }

  #read(): string | null {
    return this.#attempt('read', () =>
      existsSync(this.path) ? readFileSync(this.path, 'utf8') : null,
    );
  }

  /** Writes the unit atomically: with half a unit, a boot would start nothing. */
  #write(text: string): void {
    const draft = `${this.path}.${process.pid}`;
    this.#attempt('written', () => {
      try {
        writeFileSync(draft, text, { mode: 0o644, flush: true });
        renameSync(draft, this.path);
      } finally {
        rmSync(draft, { force: true });
      }
    });
  }

  #reload(): void {
    if (existsSync(RUNS_SYSTEMD)) systemctl('daemon-reload');
  }

  #attempt<T>(done: string, work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw failed(
        `${this.path} could not be ${done}: run this as root, on a host with systemd`,
        cause,
      );
    }
  }
}

function systemctl(...args: readonly string[]): void {
  const { status, error, stderr } = spawnSync('systemctl', args, { encoding: 'utf8' });
  if (error !== undefined) throw failed('systemctl could not be run', error);
  if (status !== 0) throw failed(`systemctl ${args.join(' ')} failed: ${stderr.trim()}`);
}
