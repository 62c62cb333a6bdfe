/** Milliseconds that this thread has computed since; how long a busy machine kept it waiting meanwhile does not count. */
export function processorClock(): () => number {
  const begin = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(begin);
    return (user + system) / 1000;
  };
}
