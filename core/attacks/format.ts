const PREFIXES = ['', 'K', 'M', 'G', 'T', 'P'] as const;

/** `1.25 Gbps`, SI and two decimals. */
export function formatBps(bitsPerSecond: number): string {
  return formatRate(bitsPerSecond, 'bps');
}

/** `812.40 Kpps`. */
export function formatPps(packetsPerSecond: number): string {
  return formatRate(packetsPerSecond, 'pps');
}

function formatRate(value: number, unit: string): string {
  let scaled = value;
  let power = 0;
  // By the rounded value: 999,999 is 1.00 M, not 1000.00 K.
  while (Number(scaled.toFixed(2)) >= 1000 && power < PREFIXES.length - 1) {
    scaled /= 1000;
    power++;
  }
  return `${scaled.toFixed(2)} ${PREFIXES[power]}${unit}`;
}
