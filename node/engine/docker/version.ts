/** Versions of Docker's API that this client was written for; what it uses has not changed between them. */
const OLDEST = [1, 40] as const;
const NEWEST = [1, 51] as const;

/**
 * The version to speak: the newest that both know. Throws where there is none. Engines drop old versions (Docker 29
 * takes nothing before 1.44) and refuse newer ones, so that none can be fixed here.
 */
export function chooseVersion(newest: string, oldest: string): string {
  const theirs = { newest: parseVersion(newest), oldest: parseVersion(oldest) };
  const chosen = isOlder(theirs.newest, NEWEST) ? theirs.newest : NEWEST;
  if (isOlder(chosen, OLDEST))
    throw new RangeError(`its API ${newest} is older than ${OLDEST.join('.')}`);
  if (isOlder(chosen, theirs.oldest))
    throw new RangeError(`its API begins with ${oldest}, after ${NEWEST.join('.')}`);
  return chosen.join('.');
}

function parseVersion(text: string): readonly [number, number] {
  const [, major, minor] = /^(\d{1,4})\.(\d{1,4})$/.exec(text) ?? [];
  if (major === undefined || minor === undefined)
    throw new RangeError(`it says that its API is of version ${JSON.stringify(text.slice(0, 20))}`);
  return [Number(major), Number(minor)];
}

function isOlder(a: readonly [number, number], b: readonly [number, number]): boolean {
  return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
}
