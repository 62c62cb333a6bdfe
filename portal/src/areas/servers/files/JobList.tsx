import type { FileJob } from '@portcullis/client/index.ts';
import { Loader } from '@mantine/core';
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
                {job.state === 'running'
                  ? text.soFar(job.entries, formatBytes(job.bytes))
                  : job.notes.join(' ') || text.soFar(job.entries, formatBytes(job.bytes))}
              </div>
            </div>
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

function JobIcon({ state }: Pick<FileJob, 'state'>) {
  if (state === 'running') return <Loader size={16} aria-hidden="true" />;
  return state === 'done' ? (
    <CircleCheck size={17} className="ok-ink" aria-hidden="true" />
  ) : (
    <CircleX size={17} className="bad-ink" aria-hidden="true" />
  );
}
