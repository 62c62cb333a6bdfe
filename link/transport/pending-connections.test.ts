import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Duplex, duplexPair } from 'node:stream';
import { test } from 'node:test';
import { AgentConnections } from './control-side.ts';
import { PendingConnections } from './pending-connections.ts';

const AGENT = 1000;
const STRANGER = 2000;

function open(pending: PendingConnections<string>, peer: number, count: number): (string | null)[] {
  return Array.from({ length: count }, (_, index) => pending.add(`${peer}/${index}`, peer));
}

test('an account without an agent keeps 16 pending connections, the newest ones', () => {
  const pending = new PendingConnections<string>([0]);
  assert.deepEqual(
    open(pending, STRANGER, 18).filter((closed) => closed !== null),
    ['2000/0', '2000/0'],
  );
  pending.remove('2000/0');
  assert.equal(pending.add('again', STRANGER), '2000/1');
});

test('many accounts without an agent push out each other, and never a known account', () => {
  const pending = new PendingConnections<string>([0]);
  pending.add('agent', AGENT);
  const left = pending.admit('agent');
  assert.equal(pending.add('agent again', AGENT), null);
  assert.equal(pending.add('root', 0), null);
  const closed: string[] = [];
  for (let uid = STRANGER; uid < STRANGER + 1_000; uid += 1) {
    const victim = pending.add(`s${uid}`, uid);
    if (victim === null) continue;
    pending.remove(victim);
    closed.push(victim);
  }
  assert.equal(closed.length, 1_000 - 128);
  assert.ok(closed.every((name) => name.startsWith('s')));
  // A newcomer is never the one that is closed, so an agent of a new account can greet.
  assert.equal(pending.add('newcomer', 9_999), 's2872');
  left();
  assert.equal(open(pending, AGENT, 15).filter((one) => one !== null).length, 15);
});

test('a request of HTTP is handed on whole, and counts until it is admitted', async () => {
  const taken: { readonly stream: Duplex; readonly admitted: () => void }[] = [];
  const connections = new AgentConnections({
    handler: async () => ({ kind: 'done' }),
    onHttp: (stream, admitted) => taken.push({ stream, admitted }),
  });
  const opened: Duplex[] = [];
  const request = async (): Promise<void> => {
    const before = taken.length;
    const [ours, theirs] = duplexPair({ allowHalfOpen: false });
    opened.push(ours);
    connections.accept(theirs, STRANGER);
    ours.write('GET /api/node-streams/x HTTP/1.1\r\n');
    while (taken.length === before) await new Promise(setImmediate);
  };
  await request();
  const [first] = taken;
  assert.ok(first);
  first.stream.resume();
  const [head] = (await once(first.stream, 'data')) as [Buffer];
  assert.match(head.toString(), /^GET \/api/);
  for (let count = 0; count < 16; count += 1) await request();
  // The oldest of those that are not admitted made room.
  assert.equal(first.stream.destroyed, true);
  const [, second] = taken;
  assert.equal(second?.stream.destroyed, false);
  second?.admitted();
  for (let count = 0; count < 20; count += 1) await request();
  assert.equal(second?.stream.destroyed, false);
  for (const one of opened) one.destroy();
  await connections.close();
});
