import type { FileJob } from '@portcullis/client/index.ts';

type Job = Pick<FileJob, 'id' | 'state'>;

/** Whether a job ended between two readings of the list of jobs; that of a node that was restarted has none any more. */
export function hasJobEnded(before: readonly Job[], now: readonly Job[]): boolean {
  const knownToEnd = idsOf(before.filter((job) => !isRunning(job)));
  const running = idsOf(now.filter(isRunning));
  return (
    now.some((job) => !isRunning(job) && !knownToEnd.has(job.id)) ||
    before.some((job) => isRunning(job) && !running.has(job.id))
  );
}

function isRunning({ state }: Job): boolean {
  return state === 'running';
}

function idsOf(jobs: readonly Job[]): ReadonlySet<string> {
  return new Set(jobs.map(({ id }) => id));
}
