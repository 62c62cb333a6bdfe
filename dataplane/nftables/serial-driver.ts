import type { Driver } from './driver.ts';

/** A driver for several callers: each write waits for the previous ones of all callers. */
export function serialDriver(driver: Driver): Driver {
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
