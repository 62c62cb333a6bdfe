import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import type { Namespace } from './stack/netns.ts';

/** A driver whose every call is made inside a namespace, whatever its caller waited for before. */
export function driverWithin(namespace: Namespace, driver: EarlyDropDriver): EarlyDropDriver {
  return new Proxy(driver, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) =>
        namespace.within((): unknown => Reflect.apply(value, target, args));
    },
  });
}
