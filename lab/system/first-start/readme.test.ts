import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TerminalCommand } from '@portcullis/cli/testing/run.ts';
import { skipUnless } from '../../requirements.ts';
import { Clone } from './clone.ts';

const README = join(import.meta.dirname, '..', '..', '..', 'README.md');
const IS_UP = /Ctrl-C stops it/;
/** The address of the host; the example of a fleet uses others. */
const ADDRESS = '192.0.2.77';
/** Runs until it is interrupted. */
const ENDLESS = './portcullis attacks watch';
/** The tests themselves, and what builds another network. */
const NOT_RUN = ['npm ci && npm test', 'sudo npm run lab'];

/** The README is followed word for word: each of its commands is run, in its order. */
describe('the README, in a fresh clone, by a user and then with sudo', {
  skip: skipUnless(['root', 'netns', 'nft', 'python3', 'postgres', 'sudo', 'git']),
}, () => {
  let clone: Clone;
  let up: TerminalCommand | null = null;
  const steps = readCommands();
  let key = '';
  before(async () => {
    clone = await Clone.make(`${ADDRESS}/24`);
  });
  after(async () => {
    await stop();
    await clone.destroy();
  });

  it('npm start before npm ci says what to do', () => {
    const { status, said } = clone.run('npm start');
    assert.equal(status, 69, said);
    assert.match(said, /run 'npm ci' in \S+ first/);
    clone.install();
  });

  it('Two commands: starts everything, and prints a key', async () => {
    assert.deepEqual(steps('Two commands'), ['npm ci && npm start', NOT_RUN[0]]);
    const out = await start('npm ci && npm start');
    key = /^ *(pcl_\w+)\s*$/m.exec(out)?.[1] ?? '';
    assert.match(out, /NOTHING IS ENFORCED/);
    assertWorks(out);
    assert.match(out, /^ *sudo \.\/portcullis up --enforce --confirm-within 120s --adopt \/home/m);
  });

  it('A first call: every command works as it stands', async () => {
    for (const line of steps('A first call')) {
      if (line.startsWith('export PORTCULLIS_API_KEY'))
        clone.export(`export PORTCULLIS_API_KEY=${key}`);
      else if (line.startsWith('IP=')) clone.export(`IP=${ADDRESS}`);
      else if (line === ENDLESS) {
        const { status, said } = clone.run(`timeout --signal=INT 5 ${line}`);
        assert.ok([0, 124].includes(status ?? 1), said);
      } else {
        const { status, said } = clone.run(line);
        assert.equal(status, 0, `${line}: ${said}`);
        assert.doesNotMatch(said, /"errors"|"detail"/, line);
      }
    }
  });

  it('Enforcing: the same installation is taken over with a yes, and the key works on', async () => {
    const [enforce = '', confirm = '', off = '', ...rest] = steps('Enforcing');
    assert.deepEqual(rest, [NOT_RUN[1]]);
    const busy = clone.run(`${enforce} --adopt /home/ada/.local/state/portcullis`);
    assert.match(busy.said, /in use: stop what runs there first/);
    await stop();
    const unasked = clone.run(`${enforce} </dev/null 2>&1 | cat`);
    assert.match(
      unasked.said,
      /take it over with --adopt \S+ada\S+, or make another one with --data/,
    );
    const out = await start(enforce, /Take over the installation in \S+ada.*\[y\/N\] /);
    assert.match(out, /Enforcing as edge local/);
    assert.match(out, /disabled again in 120s unless you run: sudo \.\/portcullis edge confirm/);
    const read =
      'curl -si -H "Authorization: Bearer $PORTCULLIS_API_KEY" http://127.0.0.1:8080/api/v1/firewall/ips/$IP';
    const { said } = clone.run(read);
    assert.match(said, /^HTTP\/1.1 200[\s\S]*^portcullis-enforcement: full/im);
    assert.match(clone.run(confirm).said, /Confirmed/);
    const disabled = clone.run(off);
    assert.match(
      disabled.said,
      /The edge is disabled[\s\S]*To enable it: sudo \.\/portcullis edge on/,
    );
    assert.doesNotMatch(up?.out ?? '', /^\{|another program/m, 'no raw lines on the terminal');
    assert.match(clone.run('sudo ./portcullis edge on').said, /The edge is enabled/);
  });

  it('Describe a fleet: the example is planned, applied, and applied by each start', async () => {
    const [plan = '', apply = '', withFleet = ''] = steps('Describe a fleet');
    for (const line of [plan, apply]) {
      const { status, said } = clone.run(line);
      assert.equal(status, 0, `${line}: ${said}`);
    }
    await stop();
    await start(withFleet);
    await stop();
  });

  it('later, the user is informed where the installation is, by npm start and by every command', () => {
    for (const line of [
      'npm start',
      './portcullis edges list',
      './portcullis fleet plan examples/fleet.yaml',
    ]) {
      const { status, said } = clone.run(line);
      assert.equal(status, 1, line);
      assert.match(said, /is in \/var\/lib\/portcullis now: run this with sudo/);
    }
  });

  it('an edge without rights in its directory does not start, and is not said to enforce', () => {
    assert.equal(clone.run('mkdir -p -m 700 ~/own/edge').status, 0);
    const up = clone.run('sudo ./portcullis up --enforce --data ~/own');
    assert.equal(up.status, 1, up.said);
    assert.match(up.said, /own belongs to uid \d+, and the edge of root has no rights there/);
    const edge = 'sudo PORTCULLIS_EDGE_CREDENTIAL=x ./portcullis edge --enforce --data ~/own';
    const { status, said } = clone.run(edge);
    assert.equal(status, 1, said);
    assert.match(said, /the state directory \S+own\/edge cannot be used/);
  });

  it('where there is too little space a first start says how much it needs', () => {
    const { status, said } = clone.run(
      'sudo sh -c "mkdir /small && mount -t tmpfs -o size=50m small /small" && sudo ./portcullis up --data /small/data',
    );
    assert.equal(status, 69, said);
    assert.match(said, /a first start needs 200 MB in \/small\/data, where \d+ MB are free/);
  });

  it('by root, in a clone that only its owner may enter: the same, with its own installation', async () => {
    const out = await start('sudo npm start -- --data /srv/fresh');
    assertWorks(out);
    await stop();
  });

  /** The first server runs, and the printed key and link work. */
  function assertWorks(out: string): void {
    assert.match(out, /The game server Hearth runs/);
    const printed = /^ *(pcl_\w+)\s*$/m.exec(out)?.[1];
    const token = /\/link#(\S+)/.exec(out)?.[1];
    const api = 'http://127.0.0.1:8080/api';
    const read = `curl -sf -H 'Authorization: Bearer ${printed}' ${api}/v1/firewall/ips/${ADDRESS}`;
    assert.equal(clone.run(read).status, 0, out);
    const link = `curl -sf -H 'X-Portcullis-CSRF: 1' -H 'Content-Type: application/json' -d '{"token":"${token}"}' ${api}/portal/links/read`;
    assert.match(clone.run(link).said, /"organisation":"Default"/);
  }

  /** Starts a command on a terminal, agrees if it asks, and resolves with what it printed once everything is up. */
  async function start(line: string, question: RegExp | null = null): Promise<string> {
    up = clone.onTerminal(line);
    if (question !== null) {
      await up.prints(question);
      up.type('y\n');
    }
    return up.prints(IS_UP);
  }

  async function stop(): Promise<void> {
    if (up === null) return;
    up.interrupt();
    // npm says by its exit code that it was interrupted.
    await up.end();
    up = null;
  }
});

/** The commands in the shell blocks of a section, as a person would paste them. */
function readCommands(): (section: string) => string[] {
  const text = readFileSync(README, 'utf8');
  return (section) => {
    const body = text.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
    const blocks = [...body.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) => block ?? '');
    const inline = [...body.matchAll(/`(sudo npm run \w+)`/g)].map(([, line]) => `${line}\n`);
    return [...blocks, ...inline]
      .join('')
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .map((line) => line.replace(/(?:^|\s{2,})#.*$/, '').trim())
      .filter((line) => line !== '');
  };
}
