import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Aggregate } from './aggregate.ts';
import { decode } from '../decode/decode.ts';
import { ExportClock } from '../exporter/export-clock.ts';
import { Exporter } from '../exporter/exporter.ts';
import {
  addressBytes,
  bytesOf,
  ipv4,
  message,
  netflowV5,
  ports,
  rawHeader,
  set,
  sflow,
  templateSet,
  UPTIME_MS,
} from '../testing/datagrams.ts';
import { SamplePace } from '../exporter/sample-pace.ts';
import { recordTo } from '../testing/records.ts';
import { Timeline } from './timeline.ts';

const TARGET = '203.0.113.10';
const BUCKET_MS = 250;

interface Reported {
  /** The arrival time and the content. */
  readonly atMs: number;
  readonly bytes: Buffer;
}

/** The target's packets per second in every second, as reported by the given exporters. */
function rates(exports: readonly (readonly Reported[])[], untilMs: number): number[] {
  const detail = { packets: 0, bytes: 0 };
  const aggregate = new Aggregate({ prefixes: null, addresses: 64, seed: 1, detail, nowMs: 0 });
  const exporters = exports.map((_, index) => new Exporter(`192.0.2.${index}`, 1, index));
  const all = exports
    .flatMap((list, index) => list.map((one) => ({ ...one, index })))
    .toSorted((a, b) => a.atMs - b.atMs);
  const buckets: number[] = [];
  for (let endMs = BUCKET_MS; endMs <= untilMs; endMs += BUCKET_MS) {
    while (all[0] !== undefined && all[0].atMs < endMs) {
      const { atMs, bytes, index } = all.shift() as (typeof all)[number];
      const exporter = exporters[index] as Exporter;
      decode(bytes, {
        exporter,
        port: 50_000,
        nowMs: atMs,
        emit: (record) => aggregate.add(record, atMs),
      });
    }
    const { addresses } = aggregate.close(endMs, BUCKET_MS);
    buckets.push(addresses.find(({ subject }) => subject === TARGET)?.packets ?? 0);
  }
  return buckets.map((_, index) =>
    buckets.slice(Math.max(0, index - 3), index + 1).reduce((sum, one) => sum + one, 0),
  );
}

const sumOf = (seconds: readonly number[]): number =>
  seconds.filter((_, index) => index % 4 === 3).reduce((sum, one) => sum + one, 0);

const FLOW = {
  source: '198.51.100.7',
  destination: TARGET,
  protocol: 17,
  sourcePort: 53,
  destinationPort: 4444,
  tcpFlags: 0,
};

/** Flows of the target as exported by NetFlow 5 at a time of the exporter's uptime. */
function netflow(
  uptimeMs: number,
  flows: readonly { readonly packets: number; readonly firstMs: number; readonly lastMs: number }[],
): Buffer {
  const bytes = netflowV5(flows.map((one) => ({ ...FLOW, ...one, bytes: one.packets * 100 })));
  bytes.writeUInt32BE(uptimeMs >>> 0, 4);
  return bytes;
}

/**
 * A flood of 1,000 packets/s in flows of one packet each, exported every `everyMs` with all flows that ended since; the
 * clock of the exporter is ahead by `clockMs`. While it stalls it exports nothing, and everything afterwards.
 */
function shortFlows(
  { everyMs = 1000, clockMs = UPTIME_MS, stall = [0, 0] as readonly [number, number] } = {},
  seconds = 20,
): Reported[] {
  const reported: Reported[] = [];
  let from = 0;
  for (let atMs = everyMs; atMs <= seconds * 1000; atMs += everyMs) {
    if (atMs > stall[0] && atMs < stall[1]) continue;
    for (; from < atMs; from += 25) {
      const uptime = from + clockMs;
      const flow = { packets: 25, firstMs: uptime, lastMs: uptime };
      reported.push({ atMs, bytes: netflow(atMs + clockMs, [flow]) });
    }
  }
  return reported;
}

const peakOf = (seconds: readonly number[]): number => Math.max(...seconds);

describe('flows are counted at the time of their packets', () => {
  it('for short flows exported by a timer once a second', () => {
    const seconds = rates([shortFlows()], 25_000);
    assert.ok(peakOf(seconds) <= 1020, `${peakOf(seconds)}`);
    assert.equal(Math.round(sumOf(seconds)), 20_000);
  });

  it('for a timer that is sometimes late: a delayed export makes no peak', () => {
    for (const stall of [
      [5000, 6900],
      [5000, 8700],
      [5000, 13_100],
    ] as const) {
      const seconds = rates([shortFlows({ everyMs: 300, stall })], 40_000);
      assert.ok(peakOf(seconds) <= 1030, `${stall}: ${peakOf(seconds)}`);
      // The timer last fires at 19.8 s.
      assert.equal(Math.round(sumOf(seconds)), 19_800);
    }
  });

  it('for long flows exported in parts of uneven length', () => {
    const cuts = [0, 2300, 4100, 7000, 9100, 11_900, 14_000, 16_600, 18_000, 20_000];
    const reported = cuts.slice(1).map((end, index): Reported => {
      const begin = cuts[index] as number;
      const flow = {
        packets: end - begin,
        firstMs: begin + UPTIME_MS,
        lastMs: end + UPTIME_MS,
      };
      // Reported up to a second after it ended.
      const atMs = end + ((index * 370) % 1000);
      return { atMs, bytes: netflow(atMs + UPTIME_MS, [flow]) };
    });
    const seconds = rates([reported], 30_000);
    assert.ok(peakOf(seconds) <= 1040, `${peakOf(seconds)}`);
    assert.equal(Math.round(sumOf(seconds)), 20_000);
  });

  it('for any clock of the exporter, also when it wraps', () => {
    for (const clockMs of [0, 2 ** 32 - 10_000, 77]) {
      const seconds = rates([shortFlows({ clockMs })], 25_000);
      assert.ok(peakOf(seconds) <= 1030, `${clockMs}: ${peakOf(seconds)}`);
      assert.equal(Math.round(sumOf(seconds)), 20_000);
    }
  });

  for (const stepMs of [1, 1000]) {
    it(`for delayed datagrams with timestamps in steps of ${stepMs} ms`, () => {
      const header = rawHeader(
        ipv4({ destination: TARGET, protocol: 17, totalBytes: 100, transport: ports(53, 9) }),
        11,
      );
      const reported = Array.from({ length: 400 }, (_, index): Reported => {
        const sentMs = index * 50;
        const samples = Array.from({ length: 5 }, () => ({ rate: 10, records: [header] }));
        // Nothing arrives for two seconds.
        const atMs = sentMs > 14_000 && sentMs < 16_000 ? 16_000 : sentMs;
        return {
          atMs,
          bytes: sflow(samples, {
            sequence: index,
            uptimeMs: Math.floor(sentMs / stepMs) * stepMs,
          }),
        };
      });
      const seconds = rates([reported], 30_000);
      // Times within a step are unknown, so packets count at their arrival.
      assert.ok(peakOf(seconds) <= 1060 + stepMs, `${peakOf(seconds)}`);
      assert.equal(Math.round(sumOf(seconds)), 20_000);
    });
  }
});

describe('samples of sFlow', () => {
  const header = rawHeader(
    ipv4({ destination: TARGET, protocol: 17, totalBytes: 100, transport: ports(53, 9) }),
    11,
  );
  /** A datagram of 10 packets for every 10 ms of the selected times, sent when the agent runs. */
  const reported = (
    isSent: (ms: number) => boolean,
    sentAt: (ms: number) => number,
  ): Reported[] => {
    const taken = Array.from({ length: 2000 }, (_, index) => index * 10).filter(isSent);
    return taken.map((ms, sequence) => {
      const atMs = sentAt(ms);
      const samples = [{ rate: 10, records: [header] }];
      const uptimeMs = Math.floor(atMs / 1000) * 1000;
      return { atMs, bytes: sflow(samples, { sequence, uptimeMs }) };
    });
  };

  it('that the agent delayed are spread over its silence', () => {
    // From 8 s on it stalls for 1.2 s, and then sends in three rounds.
    const sentAt = (ms: number): number => {
      if (ms < 8000 || ms >= 9300) return ms;
      const turn = Math.floor((ms - 8000) / 550);
      return 9200 + turn * 40 + (ms - 8000 - turn * 550) / 100;
    };
    const seconds = rates([reported(() => true, sentAt)], 30_000);
    assert.ok(peakOf(seconds) <= 1100, `${peakOf(seconds)}`);
    assert.equal(Math.round(sumOf(seconds)), 20_000);
  });

  it('of pulses stay separate', () => {
    const seconds = rates(
      [
        reported(
          (ms) => ms % 1000 < 500,
          (ms) => ms,
        ),
      ],
      30_000,
    );
    assert.ok(peakOf(seconds) <= 600, `${peakOf(seconds)}`);
    assert.equal(Math.round(sumOf(seconds)), 10_000);
  });

  it('count immediately after a pause', () => {
    const pace = new SamplePace();
    for (let ms = 0; ms < 20_000; ms += 2) pace.lagOf('a', ms);
    // Then little, two datagrams at a time; then a flood.
    for (let ms = 20_000; ms < 60_000; ms += 1000) {
      assert.equal(pace.lagOf('a', ms), 0);
      assert.equal(pace.lagOf('a', ms), 0);
    }
    for (let ms = 60_000; ms < 62_000; ms += 2) assert.equal(pace.lagOf('a', ms), 0);
    // A flood that the machine batches, after seconds without traffic.
    for (let ms = 80_000; ms < 82_000; ms += 20) {
      for (let one = 0; one < 10; one++) assert.ok(pace.lagOf('a', ms) <= 1500);
    }
  });

  it('count immediately when nothing is delayed', () => {
    const pace = new SamplePace();
    for (let ms = 0; ms < 10_000; ms += 7) assert.equal(pace.lagOf('a', ms), 0);
    for (let stream = 0; stream < 1000; stream++) assert.equal(pace.lagOf(stream, 20_000), 0);
  });
});

describe('export timestamps', () => {
  for (const version of [9, 10] as const) {
    it(`are used to the millisecond, although version ${version} exports the time in seconds`, () => {
      const specs = [
        [8, 4],
        [12, 4],
        [4, 1],
        [1, 4],
        [2, 4],
        [152, 8],
        [153, 8],
      ] as const;
      const clockMs = 1_790_000_000_000;
      const reported = Array.from({ length: 20 }, (_, second): Reported => {
        // Late by another fraction of a second each time.
        const atMs = (second + 1) * 1000 + ((second * 370) % 900);
        const flows = Array.from({ length: 40 }, (_unused, index) => {
          const ms = BigInt(clockMs + second * 1000 + index * 25);
          return bytesOf(
            addressBytes(FLOW.source),
            addressBytes(TARGET),
            [17, 1],
            [2500, 4],
            [25, 4],
            [ms, 8],
            [ms, 8],
          );
        });
        const bytes = message(version, [templateSet(version, 300, specs), set(300, ...flows)]);
        if (version === 9) bytes.writeUInt32BE(atMs, 4);
        const exportSeconds = Math.floor((clockMs + atMs) / 1000);
        bytes.writeUInt32BE(exportSeconds, version === 9 ? 8 : 4);
        return { atMs, bytes };
      });
      const seconds = rates([reported], 30_000);
      assert.equal(Math.round(sumOf(seconds)), 20_000);
      // After the time needed to measure the clock.
      const settled = seconds.slice(16_000 / BUCKET_MS);
      assert.ok(peakOf(settled) <= 1030, `${peakOf(settled)}`);
    });
  }
});

describe('several exporters that see the same packets', () => {
  it('count once, also when they export at different times', () => {
    const near = shortFlows({ everyMs: 300 });
    const far = shortFlows({ everyMs: 1000, clockMs: 5 });
    const seconds = rates([near, far], 30_000);
    assert.ok(peakOf(seconds) <= 1030, `${peakOf(seconds)}`);
    assert.ok(Math.abs(sumOf(seconds) - 20_000) <= 1000, `${sumOf(seconds)}`);
  });

  it('continue with the remaining exporters when one stops', () => {
    const ends = shortFlows({ everyMs: 300 }, 8);
    const seconds = rates([ends, shortFlows({ everyMs: 300, clockMs: 5 })], 30_000);
    assert.ok(peakOf(seconds) <= 1030, `${peakOf(seconds)}`);
    assert.ok((seconds.at(13_000 / BUCKET_MS) ?? 0) >= 970);
    assert.ok(sumOf(seconds) >= 17_000, `${sumOf(seconds)}`);
  });

  it('count the exporter that sees the most', () => {
    const part = shortFlows({ everyMs: 300 }).filter((_, index) => index % 4 === 0);
    const seconds = rates([part, shortFlows({ everyMs: 300, clockMs: 5 })], 30_000);
    assert.ok(Math.abs((seconds.at(15_000 / BUCKET_MS) ?? 0) - 1000) <= 30);
  });

  it('stay within the capacity', () => {
    const detail = { packets: 0, bytes: 0 };
    const aggregate = new Aggregate({ prefixes: null, addresses: 256, seed: 1, detail, nowMs: 0 });
    for (let bucket = 0; bucket < 20; bucket++) {
      const nowMs = bucket * BUCKET_MS;
      for (let host = 0; host < 2000; host++) {
        const to = `203.0.${bucket}.${host % 256}`;
        aggregate.add(recordTo(to, { observer: 2 * (host % 50) }), nowMs);
      }
      aggregate.add(recordTo('198.51.100.1', { packets: 5000, observer: 4 }), nowMs);
      aggregate.add(recordTo('198.51.100.1', { packets: 4900, observer: 6 }), nowMs);
      const { addresses, prefixes } = aggregate.close(nowMs, BUCKET_MS);
      assert.ok(addresses.length <= 256);
      assert.equal(prefixes.find(({ subject }) => subject === '198.51.100.0/24')?.packets, 5000);
    }
  });
});

describe('a timeline', () => {
  const AMOUNTS = { packets: 100, bytes: 1000, packetVariance: 10, byteVariance: 1 };

  it('splits a flow by time and is empty afterwards', () => {
    const timeline = new Timeline(0);
    assert.ok(timeline.add(7, AMOUNTS, 125, 1000));
    const parts = Array.from({ length: 6 }, () => {
      let packets = 0;
      timeline.close((_, amounts) => (packets += amounts.packets));
      return packets;
    });
    assert.deepEqual(parts, [12.5, 25, 25, 25, 12.5, 0]);
  });

  it('rejects a flow beyond its capacity', () => {
    const timeline = new Timeline(0);
    let refused = 0;
    for (let key = 0; key < 300_000; key++) if (!timeline.add(key, AMOUNTS, 0, 0)) refused++;
    assert.ok(refused >= 300_000 - 262_144);
    timeline.close(() => {});
    assert.ok(timeline.add(1, AMOUNTS, 0, 0));
  });
});

describe('the clock of an exporter', () => {
  const LATE = 80 * 503;
  /** Sends a datagram every 503 ms with the given clock readings, and returns the measured delays. */
  const delays = (
    shows: (ms: number) => number,
    arrives = (ms: number): number => ms,
  ): number[] => {
    const clock = new ExportClock();
    return Array.from({ length: 120 }, (_, index) => index * 503).map(
      (ms) => clock.read('a', arrives(ms), shows(ms)).delayMs,
    );
  };

  it('measures delays against the fastest datagram, also when the clock is set or drifts', () => {
    const late = (ms: number): number => (ms === LATE ? ms + 700 : ms);
    for (const shows of [
      (ms: number) => ms + 5_000_000,
      (ms: number) => (ms < 20_000 ? ms + 5_000_000 : ms),
      (ms: number) => ms * 0.999,
    ]) {
      const reported = delays(shows, late);
      assert.ok(Math.abs((reported[80] ?? 0) - 700) <= 20, `${reported[80]}`);
      assert.ok(reported.every((one, index) => index === 80 || one <= 20));
    }
  });

  it('with a resolution of seconds causes no false delays', () => {
    const reported = delays(
      (ms) => Math.floor(ms / 1000) * 1000,
      (ms) => (ms === LATE ? ms + 2500 : ms),
    );
    assert.ok((reported[80] ?? 0) >= 1400);
    assert.ok(reported.every((one, index) => index === 80 || one === 0));
  });

  it('that stands still or counts other units gives no delay', () => {
    for (const pace of [0, 0.1, 0.001, 10]) {
      assert.ok(delays((ms) => ms * pace).every((one) => one === 0));
    }
  });

  it('tracks a bounded number of streams', () => {
    const clock = new ExportClock();
    for (let round = 0; round < 20; round++) {
      for (let stream = 0; stream < 1000; stream++) {
        assert.equal(clock.read(stream, round * 1000, round * 1000).aheadMs, null);
      }
    }
  });
});
