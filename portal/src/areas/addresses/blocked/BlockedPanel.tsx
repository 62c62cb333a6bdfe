import { Select, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { BlockedSource, KeyClient } from '@portcullis/client/index.ts';
import { Ban, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useWrite } from '../../../components/forms/use-write.ts';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import type { Column } from '../../../components/list/columns.ts';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { formatMoment } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import { targetOn } from '../target-on.ts';
import { blockRequestOf, EMPTY_BLOCK, splitSources } from './blocked-draft.ts';

const text = messages.blocked;
const LIST_MS = 15_000;

/** The blocked sources that apply to an address, and the form that blocks more. */
export default function BlockedPanel({ ip }: { readonly ip: string }) {
  const { client } = useSession();
  const blocked = useQuery({
    queryKey: ['blocked-sources'],
    queryFn: ({ signal }) => loadBlocked(client, signal),
    refetchInterval: LIST_MS,
  });
  const [isAdding, setAdding] = useState(false);
  const remove = useWrite(
    ({ source, target }: BlockedSource) =>
      client.unblockSources({ body: { sources: [source], target } }),
    {
      say: (_, { source, target, note, expires_at }) => ({
        text: text.unblocked(source),
        undo: () => client.blockSources({ body: { sources: [source], target, note, expires_at } }),
      }),
    },
  );
  return (
    <ListPanel
      title={text.title}
      isHeaded
      lead={text.lead}
      actions={
        <RoleButton
          needs="member"
          leftSection={<Plus size={15} aria-hidden="true" />}
          onClick={() => setAdding(true)}
        >
          {text.add}
        </RoleButton>
      }
      above={isAdding && <BlockForm ip={ip} onClose={() => setAdding(false)} />}
      error={remove.error}
      query={blocked}
      rows={blocked.data?.filter(
        ({ target }) => target === null || targetOn(ip, [target]) !== null,
      )}
      columns={columnsOf(ip, (row) => remove.mutate(row))}
      keyOf={({ id }) => String(id)}
      {...(!isAdding && { empty: { icon: Ban, ...text.empty } })}
    />
  );
}

async function loadBlocked(client: KeyClient, signal: AbortSignal): Promise<BlockedSource[]> {
  const all: BlockedSource[] = [];
  for (;;) {
    const last = all.at(-1);
    const query = last === undefined ? {} : { after: last.id };
    const { data, links } = await client.listBlockedSources({ query }, { signal });
    all.push(...data);
    if (links.next === null || data.length === 0) return all;
  }
}

function columnsOf(
  ip: string,
  onUnblock: (row: BlockedSource) => void,
): readonly Column<BlockedSource>[] {
  return [
    { title: text.source, className: 'mono', cell: ({ source }) => source },
    {
      title: text.where,
      cell({ target }) {
        if (target === null) return text.everything;
        return target === ip ? text.here : text.prefix(target);
      },
    },
    { title: messages.notes.note, className: 'dim', cell: ({ note }) => note },
    {
      title: text.until,
      className: 'dim',
      cell: ({ expires_at: at }) => (at === null ? text.never : formatMoment(new Date(at))),
    },
    {
      title: text.actions,
      cell: (row) => (
        <RoleIcon needs="member" label={text.unblock(row.source)} onClick={() => onUnblock(row)}>
          <Trash2 size={15} />
        </RoleIcon>
      ),
    },
  ];
}

function BlockForm({ ip, onClose }: { readonly ip: string; onClose(): void }) {
  const { client } = useSession();
  return (
    <WriteForm
      label={text.add}
      layout="panel"
      initial={EMPTY_BLOCK}
      refusal={({ sources }) => splitSources(sources).length === 0}
      write={(draft) => client.blockSources({ body: blockRequestOf(draft, ip, Date.now()) })}
      say={({ data, response }) => ({
        text: text.done(data.changed),
        generation: response.generation,
      })}
      submit={text.submit}
      onDone={onClose}
      onCancel={onClose}
    >
      {(form) => (
        <>
          <Textarea
            data-autofocus
            label={text.sources}
            description={text.sourcesHint}
            autosize
            minRows={2}
            maxRows={8}
            {...form.getInputProps('sources')}
          />
          <div className="form-row">
            <Select
              label={text.where}
              allowDeselect={false}
              data={[
                { value: 'here', label: text.here },
                { value: 'everything', label: text.everything },
              ]}
              {...form.getInputProps('where')}
            />
            <Select
              label={text.ends}
              allowDeselect={false}
              data={[
                { value: 'never', label: text.never },
                { value: 'hour', label: text.hour },
                { value: 'day', label: text.day },
                { value: 'week', label: text.week },
              ]}
              {...form.getInputProps('ends')}
            />
            <TextInput
              label={messages.notes.note}
              maxLength={200}
              {...form.getInputProps('note')}
            />
          </div>
        </>
      )}
    </WriteForm>
  );
}
