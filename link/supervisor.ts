/**
 * Calls `onGone` once the process that started this one over an IPC channel is gone, also if it went before this call:
 * Node emits `disconnect` only once, perhaps while modules are still loaded. Returns a function that cancels this.
 */
export function whenSupervisorGone(onGone: () => void): () => void {
  // Defined only in a process that was started with a channel.
  if (process.send === undefined) return () => {};
  if (!process.connected) {
    const immediate = setImmediate(onGone);
    return () => clearImmediate(immediate);
  }
  process.once('disconnect', onGone);
  return () => process.off('disconnect', onGone);
}
