/** Numbers and dates for people, in the viewer's language and zone. */
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const whole = new Intl.NumberFormat(undefined);
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

export function formatMoment(date: Date): string {
  return moment.format(date);
}

/** The time of day of a moment in Unix seconds. */
export function formatClock(seconds: number): string {
  return clock.format(seconds * 1000);
}

const STEPS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

export function formatAgo(date: Date, now: Date): string {
  const ms = date.getTime() - now.getTime();
  const [unit, length] = STEPS.find(([, each]) => Math.abs(ms) >= each) ?? STEPS[3];
  return relative.format(Math.round(ms / length), unit);
}

/** A duration in its largest unit: `3 minutes`. */
export function formatDuration(ms: number): string {
  const [unit, length] = STEPS.find(([, each]) => ms >= each) ?? STEPS[3];
  return new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' }).format(
    Math.round(ms / length),
  );
}

export function formatCount(count: number): string {
  return whole.format(count);
}

export function formatCompact(count: number): string {
  return compact.format(count);
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;

export function formatBytes(bytes: number): string {
  const step = Math.min(
    BYTE_UNITS.length - 1,
    bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3),
  );
  return `${(bytes / 1000 ** step).toFixed(step === 0 ? 0 : 1)} ${BYTE_UNITS[step]}`;
}

/** Of memory and disk, whose limits are whole MiB. */
export function formatMib(bytes: number): string {
  const mib = bytes / 1_048_576;
  return mib < 1024 ? `${mib.toFixed(mib < 10 ? 1 : 0)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}
