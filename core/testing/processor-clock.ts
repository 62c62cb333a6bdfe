/** The CPU time of this thread in milliseconds; waiting on a loaded machine does not count. */
export function processorClock(): () => number {
  const begin = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(begin);
    return (user + system) / 1000;
  };
}
