import { Button } from '@mantine/core';
import { History as HistoryIcon, RotateCcw, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { Confirm } from '../../../components/Confirm.tsx';
import { Diff } from '../../../components/Diff.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Loading } from '../../../components/Loading.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import {
  describeAction,
  describeActor,
  differenceOf,
  differenceOfRestore,
  type HistoryEntry,
} from './history-words.ts';
import { useHistory, useRestore, useUndoChange } from './queries.ts';

const text = messages.history;

/** Who changed what on an address, newest first, and the way back. */
export default function HistoryPanel({ ip }: { readonly ip: string }) {
  const history = useHistory(ip);
  const undo = useUndoChange(ip);
  const [back, setBack] = useState<HistoryEntry | null>(null);
  if (history.data === undefined) {
    if (history.error === null) return <Loading />;
    return <ErrorState error={history.error} onRetry={() => void history.refetch()} />;
  }
  const entries = history.data.pages.flatMap(({ data }) => data);
  if (entries.length === 0) {
    return <EmptyState icon={HistoryIcon} title={text.empty.title} text={text.empty.text} />;
  }
  return (
    <>
      <div className="card-pad">
        <span className="dim">{text.lead}</span>
        <ProblemNotice error={undo.error} />
      </div>
      <ol className="history">
        {entries.map((entry, index) => (
          <Entry
            key={entry.generation}
            entry={entry}
            isNewest={index === 0}
            isUndoing={undo.isPending && undo.variables === entry.generation}
            onUndo={() => undo.mutate(entry.generation)}
            onBack={() => setBack(entry)}
          />
        ))}
      </ol>
      {history.hasNextPage && (
        <div className="card-pad">
          <Button
            variant="default"
            loading={history.isFetchingNextPage}
            onClick={() => void history.fetchNextPage()}
          >
            {text.older}
          </Button>
        </div>
      )}
      {back !== null && (
        <GoBack
          ip={ip}
          generation={back.generation}
          newer={entries.filter(({ generation }) => generation > back.generation)}
          onClose={() => setBack(null)}
        />
      )}
    </>
  );
}

interface EntryProps {
  readonly entry: HistoryEntry;
  readonly isNewest: boolean;
  readonly isUndoing: boolean;
  onUndo(): void;
  onBack(): void;
}

function Entry({ entry, isNewest, isUndoing, onUndo, onBack }: EntryProps) {
  return (
    <li>
      <div className="history-head">
        <div>
          <div className="strong">{describeAction(entry)}</div>
          <div className="dim">
            {describeActor(entry)} · <Time at={entry.at} /> · {text.generation(entry.generation)}
          </div>
        </div>
        <div className="row-end">
          {entry.can_undo && (
            <RoleButton
              needs="member"
              size="xs"
              variant="default"
              loading={isUndoing}
              leftSection={<Undo2 size={14} aria-hidden="true" />}
              aria-label={text.undoOf(entry.generation)}
              onClick={onUndo}
            >
              {text.undo}
            </RoleButton>
          )}
          {!isNewest && (
            <RoleButton
              needs="member"
              size="xs"
              variant="subtle"
              color="gray"
              leftSection={<RotateCcw size={14} aria-hidden="true" />}
              aria-label={text.backOf(entry.generation)}
              onClick={onBack}
            >
              {text.back}
            </RoleButton>
          )}
        </div>
      </div>
      <Diff {...differenceOf(entry)} />
    </li>
  );
}

interface GoBackProps {
  readonly ip: string;
  readonly generation: number;
  readonly newer: readonly HistoryEntry[];
  onClose(): void;
}

function GoBack({ ip, generation, newer, onClose }: GoBackProps) {
  const restore = useRestore(ip, generation);
  const difference = differenceOfRestore(newer);
  const isSame = difference.added.length + difference.removed.length === 0;
  return (
    <Confirm title={text.backTitle} confirm={text.backConfirm} write={restore} onClose={onClose}>
      <div className="stack">
        <p>{isSame ? text.backSame : text.backText}</p>
        <Diff {...difference} />
      </div>
    </Confirm>
  );
}
