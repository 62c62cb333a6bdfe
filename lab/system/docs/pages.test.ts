import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TerminalCommand } from '@portcullis/cli/testing/run.ts';
import { readPages } from '../../docs/pages.ts';
import { skipUnless } from '../../requirements.ts';
import { root } from '../../structure/sources.ts';
import { Clone } from '../first-start/clone.ts';

/** That of the examples. */
const ADDRESS = '203.0.113.10';
const LOCAL = 'http://127.0.0.1:8080';
const IS_UP = /Ctrl-C stops it/;
/** Run until they are interrupted, as they are after a while. */
const ENDLESS = /^portcullis (?:attacks watch|collector )/gm;
const INTERRUPTED = `interrupted() {
  timeout --preserve-status --signal=INT 2 "$@" || test $? -eq 130
}
`;
const REFUSED = /"errors"|"detail"|^portcullis: /m;

const blocks = new Map(readPages().flatMap((page) => page.blocks.map((one) => [one.id, one])));

/**
 * The blocks of commands of the docs are pasted as they stand, in the order in which a person meets them, on one host that
 * had nothing. Placeholders, and names that only their owner's DNS knows, are what they stand for.
 */
describe('the blocks of the docs, on a fresh host', {
  skip: skipUnless(['root', 'netns', 'nft', 'python3', 'postgres', 'sudo', 'git', 'nats-server']),
}, () => {
  let clone: Clone;
  let up: TerminalCommand | null = null;
  let key = '';
  before(async () => {
    clone = await Clone.make(`${ADDRESS}/24`);
    clone.install();
    clone.linkCommand();
  });
  after(async () => {
    await stop();
    await clone.destroy();
  });

  const text = (id: string): string => {
    const found = blocks.get(id);
    assert.ok(found, id);
    return found.text;
  };
  /** Runs a script as root, with the key to be asked for; its output. Fails if a line of it does. */
  const paste = (script: string, ...more: readonly (readonly [string, string])[]): string => {
    let pasted = script.replaceAll(ENDLESS, 'interrupted $&');
    const names = [['https://portcullis.example.net', LOCAL], ['pcl_...', key], ...more] as const;
    for (const [from, to] of names) pasted = pasted.replaceAll(from, to);
    const { status, said } = clone.runAsRoot(
      `${INTERRUPTED}printf '%s\\n' '${key}' | {\n${pasted}}`,
    );
    assert.equal(status, 0, `${pasted}\n${said}`);
    assert.doesNotMatch(said, REFUSED, `${pasted}\n${said}`);
    return said;
  };
  const start = async (line: string): Promise<string> => {
    up = clone.onTerminal(line);
    return up.prints(IS_UP);
  };
  const stop = async (): Promise<void> => {
    up?.interrupt();
    await up?.end();
    up = null;
  };

  it('game servers: a first start with the fleet file, on a host without Docker', async () => {
    const whole = text('docs/game-servers.md#With a fleet file');
    // Docker and the image stay away, and `npm ci` is over.
    const script = whole.replaceAll(/^(?:apt-get|npm ci|\.\/portcullis images).*\n/gm, '');
    const printed = await start(script);
    key = /^ *(pcl_\w+)\s*$/m.exec(printed)?.[1] ?? '';
    const [access, show] = text('docs/game-servers.md#With a fleet file (3)').split('\n');
    const { said } = clone.run(`${access}\n${show}`.replace('pcl_...', key));
    assert.match(said, /Blocks/);
    await stop();
    paste('rm -r /home/ada/.local\n');
  });

  it('first start to fleet file: the example keeps what was made, and a key is replaced', async () => {
    const printed = await start('sudo portcullis up --enforce');
    key = /^ *(pcl_\w+)\s*$/m.exec(printed)?.[1] ?? '';
    const page = 'docs/from-first-start-to-fleet-file.md';
    const whole = readFileSync(join(root, page), 'utf8');
    const id = 'docs/from-first-start-to-fleet-file.md#From the first start to a fleet file';
    // The file of the section before is there still.
    const exported = paste(text(id), ['--out fleet.yaml', '--force --out fleet.yaml']);
    assert.match(exported, /^Nothing to change\.$/m);
    const [, yaml = ''] = /^ +```yaml\n([^]*?)^ +```/m.exec(whole) ?? [];
    const steps = [...whole.matchAll(/`(portcullis fleet (?:plan|apply) [^`]+)`/g)];
    const [plan = '', apply = ''] = steps.map(([, line = '']) => line);
    paste(`cat >fleet.yaml <<'END'\n${yaml}END\n`);
    assert.match(paste(`${plan}\n`), /local/);
    paste(`${apply} --yes\n`);
    paste(text('docs/from-first-start-to-fleet-file.md#A lost key'), ['revoke 1', 'revoke 2']);
  });

  it('the command: signs in, and changes rules', () => {
    paste(text('docs/command.md#Signing in'));
    // Nobody is there to answer its question.
    paste(text('docs/command.md#Rules'), ['lockdown', 'lockdown --yes']);
    const shown = paste(`portcullis firewall show ${ADDRESS}\n`);
    assert.match(shown, /no rule matches is dropped/);
    for (const line of [/deny +tcp +25565/, /allow +tcp +22\b/, /teamspeak3/, /192\.0\.2\.7/])
      assert.match(shown, line);
    const [install = '', ...rest] = text('caller/README.md#The portcullis command').split(/^/m);
    assert.match(install, /^npm install/);
    paste('cp examples/callers/rules.yaml .\n');
    paste(rest.join(''), ['apply -f', 'apply --yes -f']);
    // The cookbook has a filter of its own on this port.
    paste(`portcullis firewall filter remove ${ADDRESS} source 27015-27016\n`);
  });

  it('the cookbook: every call', () => {
    const [first, second] = [
      'docs/cookbook.md#Cookbook of the API',
      'docs/cookbook.md#Cookbook of the API (2)',
    ];
    const rows = readFileSync(join(root, 'docs/cookbook.md'), 'utf8').matchAll(
      /^\| .* \| `(call .*)` \|$/gm,
    );
    const uuid = /[0-9a-f-]{36}/.exec(paste('portcullis servers list --json\n'))?.[0] ?? '';
    const calls = [...rows].map(([, call = '']) => call);
    // No attack is going on.
    const [accept = '', ...none] = calls.filter((call) => call.includes('/attacks/ID/'));
    assert.deepEqual(none, []);
    const others = calls.filter((call) => call !== accept);
    assert.ok(others.length > 10);
    const opening = text(first ?? '');
    paste(`${opening}${others.join('\n')}\n`, ['UUID', uuid]);
    const { said } = clone.runAsRoot(`${opening}${accept}\n`.replace('pcl_...', key));
    assert.match(said, /"code":"not_found"/);
    assert.match(paste(`${opening}${text(second ?? '')}`), /"created"|"data"/);
  });

  it('filters, game servers, attacks, the operator', () => {
    paste(`export PORTCULLIS_API_KEY=pcl_...\n${text('docs/filters/README.md#Settings')}`);
    paste(
      `export PORTCULLIS_API_KEY=pcl_...\n${text('docs/game-servers.md#With a fleet file (2)')}`,
      ['Blocks:query', 'Hearth:primary'],
    );
    // No attack is recorded.
    paste(text('docs/attacks.md#Records').replace(/^portcullis attacks show 311.*\n/m, ''));
    assert.match(paste(text('docs/operator-api.md#The key')), /pcl_/);
    paste(text('docs/operating.md#Which addresses are attacked'));
  });

  it('operating, Backup and restore: over what there is, and on a host that has nothing', async () => {
    paste(text('docs/operating.md#Backup and restore'));
    await stop();
    paste(
      'mv /var/lib/portcullis /var/lib/before\ncp /var/backups/portcullis-*.gz portcullis-2026-11-25.gz\n',
    );
    paste(text('docs/operating.md#Backup and restore (2)'));
    await start('sudo portcullis up');
    assert.match(paste('portcullis whoami\n'), /organisation +Default/);
  });

  it('operating, Upgrade: by git pull, and back', async () => {
    clone.publishNewer();
    paste(text('docs/operating.md#Upgrade'));
    await stop();
    await start(text('docs/operating.md#Upgrade (2)'));
    paste('test -e NEWER\n');
    assert.match(paste('portcullis whoami\n'), /organisation +Default/);
    await stop();
    paste(text('docs/operating.md#Upgrade (3)'));
  });

  it('operating, Many hosts: the control side starts in one command, and adds a host', async () => {
    const [, line = ''] = text('docs/operating.md#Many hosts').split('\n');
    await start(line);
    const added = paste(text('docs/operating.md#Many hosts (3)'));
    assert.match(added, /portcullis edge join https:\/\/control\.example\.net:8443 pcj_/);
  });

  it('operating, Many hosts: callers trust the authority of the installation', () => {
    paste(`echo '127.0.0.1 control.example.net' >>/etc/hosts
portcullis certificate --name control.example.net --out /etc/portcullis\n`);
    const fingerprint = /[0-9a-f]{64}/.exec(paste('portcullis certificate\n'))?.[0] ?? '';
    const said = paste(text('docs/operating.md#Many hosts (4)'), ['FINGERPRINT', fingerprint]);
    assert.match(said, /organisation +Default/);
  });
});
