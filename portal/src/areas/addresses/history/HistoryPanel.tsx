import { useInfiniteQuery } from '@tanstack/react-query';
import { History as HistoryIcon, RotateCcw, Undo2 } from 'lucide-react';
import { useState } from 'react';
import { Diff } from '../../../components/Diff.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { Time } from '../../../components/Time.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import { historyMessages } from '../../../messages/address-history.ts';
import { messages } from '../../../messages/index.ts';
import {
  describeAction,
  describeActor,
  differenceOf,
  differenceOfRestore,
  type HistoryEntry,
} from './history-words.ts';
import { usePeopleClient } from '../../../session/session.ts';

const text = historyMessages;

/** Who changed what on an address, newest first, and the way back. */
export default function HistoryPanel({ ip }: { readonly ip: string }) {
  const client = usePeopleClient();
  const history = useInfiniteQuery({
    queryKey: ['history', ip],
    initialPageParam: null as number | null,
    queryFn: ({ pageParam: before, signal }) =>
      client.readHistory({ ip, query: before === null ? {} : { before } }, { signal }),
    getNextPageParam: ({ data, links }) =>
      links.next === null ? null : (data.at(-1)?.generation ?? null),
  });
  const undo = useWrite((generation: number) => client.undoChange({ ip, body: { generation } }), {
    say: ({ data }, undone) => ({ text: text.undone(undone), generation: data.generation, ip }),
  });
  const [back, setBack] = useState<HistoryEntry | null>(null);
  const entries = history.data?.pages.flatMap(({ data }) => data);
  return (
    <>
      <ListPanel
        title={messages.address.tabs.history}
        lead={text.lead}
        hidesEmptyTools
        query={history}
        rows={entries}
        error={undo.error}
        empty={{ icon: HistoryIcon, ...text.empty }}
        older={text.older}
      >
        {(rows) => (
          <ol className="history">
            {rows.map((entry, index) => (
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
        )}
      </ListPanel>
      {back !== null && (
        <GoBack
          ip={ip}
          generation={back.generation}
          newer={(entries ?? []).filter(({ generation }) => generation > back.generation)}
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

/** Makes own rules and filters those that were there right after a change. */
function GoBack({ ip, generation, newer, onClose }: GoBackProps) {
  const client = usePeopleClient();
  const difference = differenceOfRestore(newer);
  const isSame = difference.added.length + difference.removed.length === 0;
  return (
    <WriteDialog
      title={text.backTitle}
      submit={text.backConfirm}
      isFinal
      write={() => client.restoreAddress({ ip, body: { generation } })}
      say={({ data }) => ({ text: text.restored(generation), generation: data.generation, ip })}
      onClose={onClose}
    >
      <div className="stack">
        <p>{isSame ? text.backSame : text.backText}</p>
        <Diff {...difference} />
      </div>
    </WriteDialog>
  );
}
