import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TerminalCommand } from '@portcullis/cli/testing/run.ts';
import { DiscardedRoot, type Ended } from '../../stack/discarded-root.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');
const USER = 'ada';
const HOME = `/home/${USER}`;
/** A clone as git makes it, in a home that is closed to others. */
const CLONE = `${HOME}/portcullis`;
const ORIGIN = '/srv/portcullis.git';
/** `npm ci` is over at once: its result is mounted. */
const NPM = `#!/bin/sh
[ "$1" != ci ] || exec test -d node_modules/pg
exec ${execFileSync('which', ['npm'], { encoding: 'utf8' }).trim()} "$@"
`;

/** A fresh clone of this checkout, of a user who may use sudo, on a host that is discarded. */
export class Clone {
  readonly #root = new DiscardedRoot();
  /** Variables that the user has exported. */
  readonly #exports: string[] = [];

  static async make(address: string): Promise<Clone> {
    const clone = new Clone();
    await clone.#root.make(address);
    clone.#asRoot(`useradd --create-home --shell /bin/sh ${USER}; chmod 700 ${HOME}; mkdir ${CLONE}
echo '${USER} ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/${USER}
printf '%s' '${NPM}' >/usr/local/bin/npm; chmod 755 /usr/local/bin/npm`);
    clone.#copyFiles();
    return clone;
  }

  /**
   * Copies what is in the repository, or would be with the next commit, and the portal, which takes a while to build.
   */
  #copyFiles(): void {
    const git = ['-c', 'safe.directory=*', '-C', REPOSITORY, 'ls-files', '-z', '--cached'];
    const files = execFileSync('git', [...git, '--others', '--exclude-standard'], {
      maxBuffer: 1 << 26,
    });
    const present = files
      .toString()
      .split('\0')
      .filter((file) => existsSync(join(REPOSITORY, file)));
    if (existsSync(join(REPOSITORY, 'portal', 'dist'))) present.push('portal/dist');
    const archive = ['-c', '-C', REPOSITORY, '--null', '--no-recursion', '-T', '-'];
    const words = archive.filter((word) => word !== '--no-recursion');
    const input = present.filter((file) => file !== '').join('\0');
    const tar = execFileSync('tar', words, { input, maxBuffer: 1 << 30 });
    const [program, ...args] = this.#root.command('tar', '-x', '-m', '-C', CLONE);
    execFileSync(program, args, { input: tar });
    this.#asRoot(`chown -R ${USER}: ${CLONE}; touch ${CLONE}/portal/dist/index.html || :`);
  }

  /** The effect of `npm ci`, without a download. */
  install(): void {
    this.#asRoot(`mkdir ${CLONE}/node_modules
mount --bind ${REPOSITORY}/node_modules ${CLONE}/node_modules`);
  }

  #asRoot(script: string): void {
    const { status, said } = this.#root.run('sh', '-ec', script);
    assert.equal(status, 0, said);
  }

  /** Makes the command `portcullis` that of the clone, as the package does. */
  linkCommand(): void {
    this.#asRoot(`ln -s ${CLONE}/portcullis /usr/local/bin/portcullis`);
  }

  /** Puts the clone under git, with an origin that is one commit ahead of it. */
  publishNewer(): void {
    this.#asRoot(`export HOME=/root GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.net GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.net
git config --system --add safe.directory '*'
cd ${CLONE}; git init -q -b main; git add -A; git commit -qm now; git clone -q --bare . ${ORIGIN}
git clone -q ${ORIGIN} /tmp/newer; cd /tmp/newer; echo newer >NEWER; git add NEWER; git commit -qm newer; git push -q
cd ${CLONE}; git remote add origin ${ORIGIN}; git fetch -q; git branch -q -u origin/main; chown -R ${USER}: .git`);
  }

  /** Sets a variable in every later command, as `export` does in the shell of a person. */
  export(line: string): void {
    this.#exports.push(line);
  }

  /** A line in the shell of the user. */
  run(line: string): Ended {
    return this.#root.run(...this.#shell(line));
  }

  /** A script in the clone by root; it ends with its first line that fails. */
  runAsRoot(script: string): Ended {
    const env = ['HOME=/root', 'PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'NO_COLOR=1'];
    return this.#root.run('env', '-i', ...env, 'sh', '-ec', `cd ${CLONE}\n${script}`);
  }

  /** The same as `run`, on a terminal. */
  onTerminal(line: string): TerminalCommand {
    return new TerminalCommand(this.#root.command(...this.#shell(line)), {
      env: { PATH: process.env['PATH'] },
    });
  }

  #shell(line: string): [string, ...string[]] {
    const path = '/usr/local/bin:/usr/bin:/bin';
    const env = [`HOME=${HOME}`, `USER=${USER}`, `PATH=${path}`, 'TERM=dumb', 'NO_COLOR=1'];
    const script = [`cd ${CLONE}`, ...this.#exports, line].join('\n');
    return [
      'setpriv',
      `--reuid=${USER}`,
      `--regid=${USER}`,
      '--init-groups',
      'env',
      '-i',
      ...env,
      'sh',
      '-c',
      script,
    ];
  }

  destroy(): Promise<void> {
    return this.#root.destroy();
  }
}
