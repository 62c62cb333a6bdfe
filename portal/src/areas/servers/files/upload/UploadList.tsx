import { Button, Progress } from '@mantine/core';
import { RotateCw, X } from 'lucide-react';
import { RoleIcon } from '../../../../components/RoleIcon.tsx';
import { formatBytes, formatShare } from '../../../../format.ts';
import { filesMessages } from '../../../../messages/files.ts';
import type { Upload } from './upload-queue.ts';
import type { Uploads } from './use-uploads.ts';

const text = filesMessages.uploads;
/** Files that are named, of thousands. */
const SHOWN = 6;

/** How far the uploads are, those that run and those that failed; nothing without any. */
export function UploadList({ uploads }: { readonly uploads: Uploads }) {
  const list = uploads.list.filter(({ state }) => state !== 'cancelled');
  if (list.length === 0) return null;
  const sizeOf = (of: readonly Upload[]) => of.reduce((sum, { size }) => sum + size, 0);
  const done = list.filter(({ state }) => state === 'done');
  const failed = list.filter(({ state }) => state === 'failed');
  const running = list.filter(({ state }) => state === 'running');
  const isBusy = running.length > 0 || list.some(({ state }) => state === 'waiting');
  const sent = list.reduce((sum, { sent: bytes }) => sum + bytes, 0);
  const size = sizeOf(list);
  const share = size === 0 ? done.length / list.length : sent / size;
  const named = [...failed, ...running].slice(0, SHOWN);
  const more = failed.length + running.length - named.length;
  return (
    <section className="card" aria-label={text.title}>
      <div className="card-pad stack upload-head">
        <div className="row">
          <span className="strong" role="status">
            {text.state(done.length, list.length, failed.length)}
          </span>
          <span className="dim">{text.of(formatBytes(sent), formatBytes(size))}</span>
          <div className="row-end">
            {failed.length > 0 && (
              <Button
                variant="default"
                size="compact-sm"
                leftSection={<RotateCw size={14} aria-hidden="true" />}
                onClick={() => uploads.retry()}
              >
                {text.retry}
              </Button>
            )}
            <Button
              variant="default"
              size="compact-sm"
              onClick={() => (isBusy ? uploads.cancel() : uploads.clear())}
            >
              {isBusy ? text.cancelAll : text.clear}
            </Button>
          </div>
        </div>
        <Progress
          value={share * 100}
          color={failed.length > 0 ? 'red' : 'blue'}
          aria-label={text.progress(formatShare(share))}
        />
      </div>
      {named.length > 0 && (
        <ul className="items">
          {named.map((upload) => (
            <UploadItem key={upload.id} upload={upload} uploads={uploads} />
          ))}
          {more > 0 && <li className="dim">{text.more(more)}</li>}
        </ul>
      )}
    </section>
  );
}

interface ItemProps {
  readonly upload: Upload;
  readonly uploads: Uploads;
}

function UploadItem({ upload: { id, path, size, sent, state, reason }, uploads }: ItemProps) {
  const isFailed = state === 'failed';
  return (
    <li>
      <div>
        <span className="wrap">{path}</span>
        <div className={isFailed ? 'bad-ink' : 'dim'}>
          {isFailed ? reason : text.of(formatBytes(sent), formatBytes(size))}
        </div>
      </div>
      <div className="row-end">
        {isFailed && (
          <RoleIcon label={text.retryOf(path)} onClick={() => uploads.retry(id)}>
            <RotateCw size={15} />
          </RoleIcon>
        )}
        <RoleIcon label={text.cancelOf(path)} onClick={() => uploads.cancel(id)}>
          <X size={16} />
        </RoleIcon>
      </div>
    </li>
  );
}
