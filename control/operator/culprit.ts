/** The object of a batch that a failure is about, where the failure tells. */
const culprits = new WeakMap<object, object>();

export function blame(error: object, object: object): void {
  culprits.set(error, object);
}

export function culpritOf(error: unknown): object | undefined {
  return typeof error === 'object' && error !== null ? culprits.get(error) : undefined;
}
