import { DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector/detector.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from '@portcullis/core/attacks/sample.ts';
import { VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import { median } from '../measure.ts';
import type { Row } from '../report.ts';

const DESTINATIONS = 100_000;
const BUCKETS = 60;
const SETTINGS = { thresholdsOf: () => DEFAULT_THRESHOLDS, maxSubjects: 20_000 };

/** How much of a core it takes to judge 100,000 destinations four times a second. */
export function detectorRows(): Row[] {
  return [
    ['no destination gets much', 0, 0],
    ['10,000 get a quarter of a threshold', 10_000, DEFAULT_THRESHOLDS.pps / 4],
    ['1,000 are attacked at once', 1000, DEFAULT_THRESHOLDS.pps * 3],
  ].map(([what, busy, pps]): Row => {
    const ms = bucketMs(Number(busy), Number(pps));
    return {
      name: `detector: destinations judged a second on a core, of ${DESTINATIONS} while ${what}`,
      value: (DESTINATIONS * 1000) / ms,
      unit: 'samples/s',
      baseline: null,
      goal: null,
    };
  });
}

/** CPU time of a bucket, the median after warming up. */
function bucketMs(busy: number, pps: number): number {
  const calm = sampleOf(0, 0);
  const sample = sampleOf(busy, pps);
  let state: DetectorState = INITIAL;
  const taken: number[] = [];
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    const begin = process.cpuUsage();
    state = step(state, bucket < 8 ? calm : sample, SETTINGS).state;
    const { user, system } = process.cpuUsage(begin);
    if (bucket > BUCKETS / 2) taken.push((user + system) / 1000);
  }
  return median(taken);
}

function sampleOf(busy: number, pps: number): Sample {
  const addresses = Array.from({ length: DESTINATIONS }, (_, host) =>
    subject(
      `10.${host >> 16}.${(host >> 8) & 255}.${host & 255}`,
      host < busy ? pps : 40,
      prefixOf(host),
    ),
  );
  const prefixes = [...Map.groupBy(addresses, ({ prefix }) => prefix ?? '')].map(
    ([prefix, members]) =>
      subject(
        prefix,
        members.reduce((sum, { packets }) => sum + packets * 4, 0),
        null,
      ),
  );
  return { atMs: 0, durationMs: BUCKET_MS, addresses, prefixes };
}

function prefixOf(host: number): string {
  return `10.${host >> 16}.${(host >> 8) & 255}.0/24`;
}

function subject(name: string, pps: number, prefix: string | null): SubjectSample {
  const packets = (pps * BUCKET_MS) / 1000;
  return {
    subject: name,
    prefix,
    packets,
    bytes: packets * 100,
    dataPackets: 0,
    dataBytes: 0,
    receiptPackets: 0,
    packetVariance: 0,
    byteVariance: 0,
    vectors: pps > 1000 ? [{ vector: VECTOR_INDEX.udp, packets, bytes: packets * 100 }] : [],
  };
}
