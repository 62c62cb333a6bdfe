import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLIENT, EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import { startStackFixture, eventually, type StackFixture, whyNot } from '../stack-fixture.ts';

/** One heartbeat of the edge, with a margin for a slow machine. */
const PATIENCE_MS = 45_000;
const SENT = 40;

interface Drops {
  readonly data: {
    readonly totals: readonly { readonly stage: string; readonly reason: string }[];
    readonly samples: readonly {
      readonly by: string;
      readonly source_ip: string;
      readonly destination_port: number | null;
    }[];
  };
  readonly meta: { readonly packets: number; readonly edges: readonly string[] };
}

interface Preview {
  readonly data: {
    readonly ports: readonly {
      readonly protocol: number;
      readonly port: number | null;
      readonly dropped: { readonly samples: number };
    }[];
  };
}

let fixture: StackFixture;

describe('what an edge reports', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('drops');
  });
  after(() => fixture.stop());

  const drops = async (): Promise<Drops> => {
    const path = `/api/x1/firewall/ips/${SERVER[4]}/drops`;
    const { status, body } = await fixture.stack.api.call<Drops>('GET', path);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };

  it('denied packets are counted by address and reason, and shown within a heartbeat', async () => {
    await fixture.stack.api.createRule(SERVER[4], {
      action: 'deny',
      protocol: 'udp',
      destination_port: '5353',
    });
    assert.equal((await drops()).meta.packets, 0);
    const send = `for i in $(seq ${SENT}); do echo -n x > /dev/udp/${SERVER[4]}/5353; done`;
    fixture.internet.client.run('bash', '-c', send);
    // Reported within two heartbeats.
    await eventually(
      'every packet is counted',
      async () => (await drops()).meta.packets >= SENT,
      PATIENCE_MS,
    );
    const seen = await drops();
    assert.equal(seen.meta.packets, SENT, JSON.stringify(seen));
    assert.deepEqual(seen.meta.edges, ['lab']);
    assert.ok(seen.data.totals.every((one) => `${one.stage} ${one.reason}` === 'policy denied'));
    // Where the early drop is attached, samples come from it.
    for (const sample of seen.data.samples)
      assert.deepEqual([sample.source_ip, sample.destination_port], [CLIENT[4], 5353]);
  });

  it('packets that pass are sampled, and shown as what a default of deny would drop', async () => {
    const path = `/api/x1/firewall/ips/${SERVER[4]}/default-preview`;
    const dropped = async (): Promise<number> => {
      // The first ones may come before the edge samples.
      fixture.internet.client.run('bash', '-c', `echo -n x > /dev/udp/${SERVER[4]}/7777`);
      const { body } = await fixture.stack.api.call<Preview>('GET', path);
      const port = body.data.ports.find((one) => one.protocol === 17 && one.port === 7777);
      assert.ok(body.data.ports.every((one) => one.port !== 5353));
      return port?.dropped.samples ?? 0;
    };
    await eventually('a sample is shown', async () => (await dropped()) > 0, 2 * PATIENCE_MS);
  });

  it('portcullis edges says what its devices are, and that it is in service and not behind', async () => {
    const { data: shown } = JSON.parse(
      await fixture.stack.command('edges', 'show', 'lab', '--json'),
    ) as {
      data: {
        in_service: boolean;
        lag_generations: number;
        refused: unknown[];
        report: {
          policies: number;
          last_error: string | null;
          devices: { name: string; kind: string; present: boolean; xdp: string; reason: unknown }[];
        };
      };
    };
    assert.deepEqual([shown.in_service, shown.lag_generations, shown.refused], [true, 0, []]);
    assert.deepEqual([shown.report.policies > 0, shown.report.last_error], [true, null]);
    const [device] = shown.report.devices;
    assert.deepEqual([device?.name, device?.kind, device?.present], [EDGE_DEVICE, 'veth', true]);
    // The report says why it is not native.
    assert.ok(device?.xdp === 'native' || device?.reason !== null, JSON.stringify(device));
  });

  it('explain includes the answer of the edge, which evaluates the accepted policy', async () => {
    const { body } = await fixture.stack.api.call<{
      data: {
        verdict: string;
        edges: { answer: { verdict: string; up_to_date: boolean } | null }[];
      };
    }>('POST', `/api/x1/firewall/ips/${SERVER[4]}/explain`, {
      protocol: 'udp',
      source_ip: CLIENT[4],
      destination_port: 5353,
    });
    const [edge] = body.data.edges;
    assert.deepEqual(
      [body.data.verdict, edge?.answer?.verdict, edge?.answer?.up_to_date],
      ['drop', 'drop', true],
    );
  });
});
