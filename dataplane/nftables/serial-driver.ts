import type { Driver } from './driver.ts';

/** A driver that several may write by: each write waits for those before it, whoever asked for them. */
export function inTurns(driver: Driver): Driver {
  let last: Promise<unknown> = Promise.resolve();
  const wait = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work);
    last = mine.catch(() => {});
    return mine;
  };
  return {
    ...driver,
    apply: (text) => wait(() => driver.apply(text)),
    change: (change) => wait(() => driver.change(change)),
    check: (text) => wait(() => driver.check(text)),
    remove: () => wait(() => driver.remove()),
  };
}
