import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { allowPort, denyAll } from '@portcullis/dataplane/testing/policies.ts';
import { BenchEdge } from '../../bench/dataplane/edge-process.ts';
import { ForwardingWire, SERVER, SERVER_PORT } from '../../differential/forwarding-wire.ts';
import { require } from '../../requirements.ts';
import { eventually, type Game, playOn } from './game.ts';

/** The agent as `portcullis edge` runs it, with nftables and connection tracking beside the early drop. */
describe('the fast path of an edge', () => {
  it('loses no game when the agent is killed, or connection tracking forgets it', async (t) => {
    const running = await edgeOf(t);
    if (running === null) return;
    const { wire, edge, game } = running;
    const forwards = async (): Promise<void> => {
      const { packets } = await fastPathOf(edge);
      await eventually(
        async () => (await game.play()) && (await fastPathOf(edge)).packets > packets,
      );
    };
    await forwards();
    wire.edge.run('conntrack', '-F');
    assert.equal(await game.play(), true);
    await forwards();
    const playing = repeatedly(() => game.play());
    await edge.kill();
    // Programs that nobody pins end with the agent; the network stack has every packet then.
    assert.equal(await playing.stop(), true);
    assert.equal(await game.play(), true);
    await edge.start();
    assert.equal(await game.play(), true);
    await forwards();
  });

  it('lets no packet in that a new rule denies', async (t) => {
    const running = await edgeOf(t);
    if (running === null) return;
    const { edge, game } = running;
    await eventually(async () => (await game.play()) && (await fastPathOf(edge)).packets > 0);
    for (let round = 0; round < 3; round++) {
      await edge.confirmed(edge.change(denyAll(SERVER[4])));
      assert.equal(await game.play(), false);
      await edge.confirmed(edge.change(OPEN));
      await eventually(() => game.play());
    }
  });
});

const OPEN = denyAll(SERVER[4], [allowPort('udp', SERVER_PORT)]);

interface Running {
  readonly wire: ForwardingWire;
  readonly edge: BenchEdge;
  readonly game: Game;
}

async function edgeOf(t: TestContext): Promise<Running | null> {
  if (!require(t, ['root', 'netns', 'nft', 'bpf', 'ethtool', 'conntrack', 'python3'])) return null;
  const wire = new ForwardingWire();
  const settings = {
    devices: ['wan'],
    management: [],
    sees: 'both',
    fragments: 'reassemble',
  } as const;
  const edge = new BenchEdge(wire.edge, [OPEN], settings, { env: { PORTCULLIS_FAST_PATH: 'on' } });
  const game = await playOn(wire);
  t.after(async () => {
    game.stop();
    await edge.destroy();
    wire.destroy();
  });
  // What a card would finish takes the network stack on its way in.
  wire.client.run('ethtool', '-K', 'eth', 'tx', 'off');
  await edge.start();
  return { wire, edge, game };
}

async function fastPathOf(edge: BenchEdge) {
  const { fastPath } = await edge.reported();
  assert.ok(fastPath);
  return fastPath;
}

/** Calls until `stop`, which returns whether all calls were true. */
function repeatedly(action: () => Promise<boolean>): { stop(): Promise<boolean> } {
  let goesOn = true;
  const done = (async () => {
    let isAlways = true;
    while (goesOn) isAlways = (await action()) && isAlways;
    return isAlways;
  })();
  return {
    stop: () => {
      goesOn = false;
      return done;
    },
  };
}
