/** `2026-11-21T02:00:00+00:00`. */
export function timeView(moment: Date): string {
  return `${moment.toISOString().slice(0, 19)}+00:00`;
}

export function timeViewOrNull(moment: Date | null): string | null {
  return moment && timeView(moment);
}
