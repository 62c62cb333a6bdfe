import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { CONTROL_URL, type Machine, type Machines } from '../../stack/machines.ts';

let machines: Machines;
let par1: Machine;
let lon1: Machine;

/** Tests how hosts join that are bare. */
export function joinTests(started: () => Machines): void {
  describe('a new host', () => {
    before(() => {
      machines = started();
      [par1, lon1] = machines.bare as [Machine, Machine];
    });

    it('is live by the command that "tokens create" prints, and no second host by the same', async (t) => {
      const token = await createToken('par1');
      const startMs = performance.now();
      machines.launch(par1, 'edge', 'join', CONTROL_URL, token, '--foreground', '--enforce');
      await machines.logged('par1', 'par1 is live');
      t.diagnostic(`from the command to live: ${Math.round(performance.now() - startMs)} ms`);
      assert.match(par1.namespace.run('nft', 'list', 'tables'), /portcullis/);
      assert.match(await refusal(lon1, token), /was used at/);
    });

    it('waits for an operator where the token asks for approval', async () => {
      const token = await createToken('lon1', '--approve');
      machines.launch(lon1, 'edge', 'join', CONTROL_URL, token, '--foreground', '--enforce');
      await machines.logged('lon1', 'Waiting for an operator');
      assert.doesNotMatch(machines.logOf('lon1'), /is the edge/);
      const [, fingerprint = ''] =
        /The key of this host is (\S+)\./.exec(machines.logOf('lon1')) ?? [];
      assert.match(await machines.command('tokens', 'list'), new RegExp(fingerprint));
      const approval = ['--name', 'lon1', '--fingerprint', fingerprint];
      await machines.command('tokens', 'approve', 'edge', ...approval);
      await machines.logged('lon1', 'lon1 is live');
      await machines.end('lon1', 'SIGTERM');
    });

    refusalTests();
  });
}

function refusalTests(): void {
  it('gets the reason why its token is refused', async () => {
    const token = await createToken('lon1');
    const otherKind = await machines.portcullis(
      lon1,
      'node',
      'join',
      CONTROL_URL,
      token,
      '--foreground',
    );
    assert.match(otherKind.stderr, /is for the edge lon1: use "portcullis edge join"/);
    const expired = await createToken('lon1', '--expires', '1ms');
    await delay(10);
    assert.match(await refusal(lon1, expired), /expired at/);
    await machines.command('tokens', 'withdraw', 'edge', '--name', 'lon1');
    assert.match(await refusal(lon1, token), /no token of this installation/);
    assert.match(await refusal(lon1, 'pcj_x'), /not a token/);
    const unknown = `pcj_${'x'.repeat(32)}.${token.split('.')[1]}`;
    assert.match(await refusal(lon1, unknown), /no token of this installation/);
  });

  it('sends no token to what is not control, nor unencrypted', async () => {
    const token = await createToken('lon1');
    const [secret, fingerprint = ''] = token.split('.');
    const other = `${secret}.${fingerprint.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))}`;
    assert.match(
      await refusal(lon1, other),
      /neither of an authority of this system nor of the one/,
    );
    const plain = CONTROL_URL.replace('https:', 'http:');
    const { stderr, code } = await join(lon1, plain, token);
    assert.match(stderr, /is not like https:/);
    assert.equal(code, 2);
    const wrongName = await join(lon1, CONTROL_URL.replace('10.77.0.1', '10.77.0.10'), token);
    assert.equal(wrongName.code, 69, wrongName.stderr);
  });

  it('keeps the credential that it has', async () => {
    const again = await machines.portcullis(
      par1,
      'edge',
      'join',
      CONTROL_URL,
      await createToken('par1'),
    );
    assert.match(again.stderr, /has a credential already/);
  });
}

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
