import { Checkbox } from '@mantine/core';
import { ProblemError } from '@portcullis/client/index.ts';
import type { FileTransfers } from '@portcullis/client/transfers.ts';
import { plainText } from '@portcullis/core/game-servers/console-text.ts';
import { SquarePen } from 'lucide-react';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Loaded } from '../../../../components/Loaded.tsx';
import { Notice } from '../../../../components/Notice.tsx';
import { RoleIcon } from '../../../../components/RoleIcon.tsx';
import { formatBytes } from '../../../../format.ts';
import { filesMessages } from '../../../../messages/files.ts';
import { nameOf } from '../paths.ts';
import { useTransfers } from '../use-transfers.ts';
import { BinaryFile } from './BinaryFile.tsx';
import { FileFrame, type FrameProps } from './FileFrame.tsx';
import { EMPTY_TAIL, grown, type Tail, TAIL_BYTES, tailOf } from './tail.ts';

const text = filesMessages.log;
const FOLLOW_MS = 2_000;
/** Nearer to the end than this, new lines scroll into view. */
const NEAR_PX = 40;
const NOT_SATISFIABLE = 416;

interface Props {
  readonly frame: FrameProps;
  /** Null: it is too large to be edited. */
  readonly onEdit: (() => void) | null;
  readonly isTooLarge: boolean;
}

/** The end of a file, and with “follow” what is written to it. */
export function LogFile({ frame, onEdit, isTooLarge }: Props) {
  const [isFollowing, setFollowing] = useState(!isTooLarge);
  const { tail, error, retry } = useTail(frame, isFollowing);
  const host = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isAtEnd.current) host.current?.scrollTo({ top: host.current.scrollHeight });
  }, [tail]);
  if (tail?.isBinary === true) return <BinaryFile frame={frame} size={tail.end} />;
  return (
    <FileFrame
      {...frame}
      actions={
        <>
          <Checkbox
            label={text.follow}
            checked={isFollowing}
            onChange={(event) => setFollowing(event.currentTarget.checked)}
          />
          {onEdit !== null && (
            <RoleIcon label={text.edit} onClick={onEdit}>
              <SquarePen size={16} />
            </RoleIcon>
          )}
        </>
      }
    >
      {isTooLarge && (
        <div className="panel">
          <Notice kind="info">{text.tooLarge}</Notice>
        </div>
      )}
      <Loaded query={{ data: tail ?? undefined, error, refetch: retry }}>
        {({ lines, open, end }) => (
          <>
            <pre
              ref={host}
              className="file-log"
              tabIndex={0}
              role="log"
              aria-label={nameOf(frame.path)}
              onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
                isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
              }}
            >
              {[...lines, open].map(plainText).join('\n')}
            </pre>
            <div className="grid-foot">{text.shown(lines.length, formatBytes(end))}</div>
          </>
        )}
      </Loaded>
    </FileFrame>
  );
}

function useTail({ uuid: slice, path }: FrameProps, isFollowing: boolean) {
  const transfers = useTransfers();
  const [tail, setTail] = useState<Tail | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [tries, setTries] = useState(0);
  const latest = useRef<Tail | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    let timer: number | undefined;
    const read = async (): Promise<void> => {
      const next = await readTail(transfers, { slice, path }, latest.current, stop.signal);
      if (next !== latest.current) setTail(next);
      latest.current = next;
      setError(null);
    };
    const follow = (): void => {
      read()
        .catch((failure: unknown) => {
          if (stop.signal.aborted) return;
          setError(failure instanceof Error ? failure : new Error(String(failure)));
        })
        .finally(() => {
          if (isFollowing && !stop.signal.aborted) timer = window.setTimeout(follow, FOLLOW_MS);
        });
    };
    follow();
    return () => {
      stop.abort();
      window.clearTimeout(timer);
    };
  }, [transfers, slice, path, isFollowing, tries]);
  return { tail, error, retry: () => setTries((before) => before + 1) };
}

function rangeOf(from: number | null): string {
  return from === null ? `bytes=-${TAIL_BYTES}` : `bytes=${from}-${from + TAIL_BYTES}`;
}

interface Place {
  readonly slice: string;
  readonly path: string;
}

/** The next state of a tail. A file that became shorter was begun anew, and is read as if for the first time. */
async function readTail(
  transfers: FileTransfers,
  { slice, path }: Place,
  before: Tail | null,
  signal: AbortSignal,
): Promise<Tail> {
  const range = before === null || before.end === 0 ? null : before.end - 1;
  try {
    const { body, place } = await transfers.download(
      { slice, path, range: rangeOf(range) },
      signal,
    );
    const bytes = new Uint8Array(await new Response(body).arrayBuffer());
    const part = { bytes, ...(place ?? { offset: 0, size: bytes.length }) };
    if (range === null || before === null || place === null) return tailOf(part);
    if (part.size - before.end > TAIL_BYTES)
      return await readTail(transfers, { slice, path }, null, signal);
    // One byte before is asked for too, because a part of nothing is refused.
    const added = part.bytes.subarray(1);
    return added.length === 0 ? before : grown(before, added);
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== NOT_SATISFIABLE) throw error;
    return before === null || before.end === 0
      ? EMPTY_TAIL
      : readTail(transfers, { slice, path }, null, signal);
  }
}
