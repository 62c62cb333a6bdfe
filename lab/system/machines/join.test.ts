import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { skipUnless } from '../../requirements.ts';
import { CONTROL_URL, type Machine, Machines } from '../../stack/machines.ts';

let machines: Machines;
let fra1: Machine;
let ams1: Machine;

describe('a new host', {
  skip: skipUnless(['root', 'netns', 'nft', 'postgres', 'nats-server']),
}, () => {
  before(async () => {
    machines = await Machines.start('join', [], ['fra1', 'ams1']);
    [fra1, ams1] = machines.bare as [Machine, Machine];
  });
  after(() => machines.stop());

  it('is live by the command that "tokens create" prints, and no second host by the same', async (t) => {
    const token = await createToken('fra1');
    const startMs = performance.now();
    machines.launch(fra1, 'edge', 'join', CONTROL_URL, token, '--foreground', '--enforce');
    await machines.logged('fra1', 'fra1 is live');
    t.diagnostic(`from the command to live: ${Math.round(performance.now() - startMs)} ms`);
    assert.match(fra1.namespace.run('nft', 'list', 'tables'), /portcullis/);
    assert.match(await refusal(ams1, token), /was used at/);
  });

  it('waits for an operator where the token asks for approval', async () => {
    const token = await createToken('ams1', '--approve');
    machines.launch(ams1, 'edge', 'join', CONTROL_URL, token, '--foreground', '--enforce');
    await machines.logged('ams1', 'Waiting for an operator');
    assert.doesNotMatch(machines.logOf('ams1'), /is the edge/);
    await machines.command('tokens', 'approve', 'edge', '--name', 'ams1');
    await machines.logged('ams1', 'ams1 is live');
    await machines.end('ams1', 'SIGTERM');
  });

  it('is told why its token is refused', async () => {
    const token = await createToken('ams1');
    const otherKind = await machines.portcullis(
      ams1,
      'node',
      'join',
      CONTROL_URL,
      token,
      '--foreground',
    );
    assert.match(otherKind.stderr, /is for the edge ams1: use "portcullis edge join"/);
    const expired = await createToken('ams1', '--expires', '1ms');
    await delay(10);
    assert.match(await refusal(ams1, expired), /expired at/);
    await machines.command('tokens', 'withdraw', 'edge', '--name', 'ams1');
    assert.match(await refusal(ams1, token), /no token of this installation/);
    assert.match(await refusal(ams1, 'pcj_x'), /not a token/);
    const unknown = `pcj_${'x'.repeat(32)}.${token.split('.')[1]}`;
    assert.match(await refusal(ams1, unknown), /no token of this installation/);
  });

  it('sends no token to what is not control, nor unencrypted', async () => {
    const token = await createToken('ams1');
    const [secret, fingerprint = ''] = token.split('.');
    const other = `${secret}.${fingerprint.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))}`;
    assert.match(
      await refusal(ams1, other),
      /neither of an authority of this system nor of the one/,
    );
    const plain = CONTROL_URL.replace('https:', 'http:');
    const { stderr, code } = await join(ams1, plain, token);
    assert.match(stderr, /is not like https:/);
    assert.equal(code, 2);
    const wrongName = await join(ams1, CONTROL_URL.replace('10.77.0.1', '10.77.0.10'), token);
    assert.equal(wrongName.code, 69, wrongName.stderr);
  });

  it('keeps the credential that it has', async () => {
    const again = await machines.portcullis(
      fra1,
      'edge',
      'join',
      CONTROL_URL,
      await createToken('fra1'),
    );
    assert.match(again.stderr, /has a credential already/);
  });
});

async function createToken(name: string, ...args: readonly string[]): Promise<string> {
  const options = ['edge', '--name', name, '--url', CONTROL_URL, '--json', ...args];
  const { data } = JSON.parse(await machines.command('tokens', 'create', ...options)) as {
    readonly data: { readonly token: string; readonly command: string };
  };
  assert.equal(data.command, `portcullis edge join ${CONTROL_URL} ${data.token}`);
  return data.token;
}

function join(machine: Machine, url: string, token: string) {
  return machines.portcullis(machine, 'edge', 'join', url, token, '--replace', '--foreground');
}

async function refusal(machine: Machine, token: string): Promise<string> {
  const { code, stderr } = await join(machine, CONTROL_URL, token);
  assert.notEqual(code, 0);
  return stderr;
}
