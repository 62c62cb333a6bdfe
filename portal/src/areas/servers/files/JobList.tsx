import type { FileJob } from '@portcullis/client/index.ts';
import { Loader, Progress } from '@mantine/core';
import { CircleCheck, CircleX, X } from 'lucide-react';
import { useState } from 'react';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { formatBytes } from '../../../format.ts';
import { filesMessages } from '../../../messages/files.ts';
import { useSession } from '../../../session/session.ts';
import { nameOf } from './paths.ts';
import { useFileJobs } from './queries.ts';
import { sayFailure } from './use-file-changes.ts';

const text = filesMessages.jobs;

/** Copies, archives and the like that run, and those that ended while the page was shown, until they are closed. */
export function JobList({ uuid }: { readonly uuid: string }) {
  const { client } = useSession();
  const { data: jobs = [] } = useFileJobs(uuid);
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  const running = jobs.filter(({ state }) => state === 'running').map(({ id }) => id);
  if (running.some((id) => !seen.has(id))) setSeen(new Set([...seen, ...running]));
  const { mutate: cancel } = useWrite(
    (job: string) => client.cancelFileJob({ slice: uuid, job }),
    {},
  );
  const shown = jobs.filter(({ id, state }) => state === 'running' || seen.has(id));
  if (shown.length === 0) return null;
  return (
    <section className="card" aria-label={text.title}>
      <ul className="items file-jobs">
        {shown.map((job) => (
          <li key={job.id}>
            <JobIcon state={job.state} />
            <div>
              <span className="strong">{text.kind(job.kind, job.state, nameOf(job.path))}</span>
              <div className="dim" role="status">
                {job.state === 'running' ? describe(job) : job.notes.join(' ') || describe(job)}
              </div>
            </div>
            {job.state === 'running' && job.total_bytes !== null && (
              <Progress
                className="job-progress"
                value={(100 * job.bytes) / Math.max(1, job.total_bytes)}
                aria-label={text.kind(job.kind, job.state, nameOf(job.path))}
              />
            )}
            <div className="row-end">
              {job.state === 'running' ? (
                <RoleIcon
                  label={text.cancel(nameOf(job.path))}
                  onClick={() => cancel(job.id, { onError: sayFailure })}
                >
                  <X size={16} />
                </RoleIcon>
              ) : (
                <RoleIcon
                  label={text.close(nameOf(job.path))}
                  onClick={() => setSeen(new Set([...seen].filter((id) => id !== job.id)))}
                >
                  <X size={16} />
                </RoleIcon>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How far a job is, and of how much where that is known; while it has done nothing, why it waits. */
function describe({ entries, bytes, total_bytes: total, notes }: FileJob): string {
  if (bytes === 0 && entries === 0 && notes.length > 0) return notes.join(' ');
  const done = formatBytes(bytes);
  return total === null
    ? text.soFar(entries, done)
    : filesMessages.uploads.of(done, formatBytes(total));
}

function JobIcon({ state }: Pick<FileJob, 'state'>) {
  if (state === 'running') return <Loader size={16} aria-hidden="true" />;
  return state === 'done' ? (
    <CircleCheck size={17} className="ok-ink" aria-hidden="true" />
  ) : (
    <CircleX size={17} className="bad-ink" aria-hidden="true" />
  );
}
