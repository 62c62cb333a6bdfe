/** Numbers and dates for people, in the viewer's language and zone. */
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const exact = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const dayAndClock = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const whole = new Intl.NumberFormat(undefined);
const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

/** A part of a whole: `97 %`, `0.4 %`. */
export function formatShare(share: number): string {
  const percent = Math.min(100, share * 100);
  return `${percent === 0 || percent >= 1 ? Math.round(percent) : Math.max(0.1, Math.round(percent * 10) / 10)} %`;
}

export function formatMoment(date: Date): string {
  return moment.format(date);
}

const DAY_S = 86_400;

/** A moment of an axis, as exact as what it covers asks for. In Unix seconds. */
export function formatTick(
  seconds: number,
  { span, step }: Record<'span' | 'step', number>,
): string {
  const format = span > DAY_S ? dayAndClock : step < 60 ? exact : clock;
  return format.format(seconds * 1000);
}

const UNITS = [
  ['d', DAY_S],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** The two largest units: `2 h 5 min`. Below a second: milliseconds. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const first = UNITS.findIndex(([, length]) => seconds >= length);
  const parts = UNITS.slice(first, first + 2).map(([unit, length], index) => {
    const whole = index === 0 ? seconds : seconds % (UNITS[first]?.[1] ?? 1);
    const amount =
      unit === 's' && seconds < 10 ? Math.round(whole * 10) / 10 : Math.floor(whole / length);
    return amount === 0 ? '' : `${amount} ${unit}`;
  });
  return parts.filter(Boolean).join(' ');
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

/** The size of memory and disk, whose limits are whole MiB. */
export function formatMib(bytes: number): string {
  const mib = bytes / 1_048_576;
  return mib < 1024 ? `${mib.toFixed(mib < 10 ? 1 : 0)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

/** A moment as the value of a `datetime-local` field: in the zone of the viewer, without naming it. */
export function localOf(moment: string): string {
  const date = new Date(moment);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
