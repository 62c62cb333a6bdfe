import { TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { Group, GroupInput } from '@portcullis/client/index.ts';
import { Trash2 } from 'lucide-react';
import { useMemo, useState } from 'react';
import { ConfirmButton } from '../../components/forms/ConfirmButton.tsx';
import { LeaveGuard } from '../../components/LeaveGuard.tsx';
import { Notice } from '../../components/Notice.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { useWrite } from '../../components/forms/use-write.ts';
import { groupEditorMessages } from '../../messages/group-editor.ts';
import { messages } from '../../messages/index.ts';
import { useRefusal } from '../../session/rights.ts';
import { usePeopleClient } from '../../session/session.ts';
import { TargetsInput } from '../addresses/TargetsInput.tsx';
import { FiltersSection } from './FiltersSection.tsx';
import { EMPTY_GROUP, findWrongTarget, inputOfGroup, isSameGroup } from './group-draft.ts';
import { PreviewPanel } from './PreviewPanel.tsx';
import { useReadGroupsAgain } from './queries.ts';
import { RulesSection } from './RulesSection.tsx';

const text = groupEditorMessages.group;

/** A group with all that it has; null: a new one. Nothing happens before it is saved. */
export function GroupEditor({ group }: { readonly group: Group | null }) {
  const stored = useMemo(() => (group === null ? EMPTY_GROUP : inputOfGroup(group)), [group]);
  const [edited, setEdited] = useState<GroupInput | null>(null);
  const draft = edited ?? stored;
  const change = (part: Partial<GroupInput>): void => setEdited({ ...draft, ...part });
  const [typing, setTyping] = useState({ rules: false, filters: false });
  const isTyping = typing.rules || typing.filters;
  const refusal = useRefusal('admin', true);
  const locked = group?.owner === 'fleet' ? text.locked.fleet : refusal;
  const isSame = isSameGroup(draft, stored);
  const wrong = findWrongTarget(draft.targets);
  // What was edited meanwhile stays.
  const save = useSave(group, (sent) => setEdited((now) => (now === sent ? null : now)));
  return (
    <>
      <PageHeader
        title={group?.name ?? text.newTitle}
        above={{ to: '/groups', title: messages.groups.title }}
      >
        {group !== null && <DeleteGroup group={group} refusal={locked} />}
      </PageHeader>
      {locked !== null && <Notice kind="info">{locked}</Notice>}
      <div className="editor">
        <div className="stack">
          <section className="card card-pad">
            <TextInput
              label={text.name}
              description={text.nameHint}
              value={draft.name}
              maxLength={200}
              readOnly={locked !== null}
              autoFocus={group === null}
              onChange={(event) => change({ name: event.currentTarget.value })}
            />
          </section>
          <section className="card card-pad">
            <h2>{text.targets}</h2>
            <p>{text.targetsLead}</p>
            <TargetsInput
              aria-label={text.targetsLabel}
              placeholder={locked === null ? text.targetsPlaceholder : ''}
              value={[...draft.targets]}
              onChange={(targets) => change({ targets })}
              readOnly={locked !== null}
              error={wrong !== null}
            />
            <div className="hint bad" role="status">
              {wrong !== null && text.notATarget(wrong.typed, wrong.reason)}
            </div>
          </section>
          <RulesSection
            rules={draft.rules}
            isLocked={locked !== null}
            onChange={(rules) => change({ rules })}
            onTyping={(rules) => setTyping((before) => ({ ...before, rules }))}
          />
          <FiltersSection
            filters={draft.filters}
            isLocked={locked !== null}
            onChange={(filters) => change({ filters })}
            onTyping={(filters) => setTyping((before) => ({ ...before, filters }))}
          />
        </div>
        {locked === null && (
          <PreviewPanel
            group={group?.id ?? null}
            draft={draft}
            isSame={isSame}
            isTyping={isTyping}
            isValid={wrong === null && draft.name.trim() !== ''}
            save={save}
            onSave={() => save.mutate(draft)}
            onDiscard={() => setEdited(null)}
          />
        )}
      </div>
      <LeaveGuard isDirty={(!isSame || isTyping) && !save.isPending} text={text.leave} />
    </>
  );
}

interface DeleteProps {
  readonly group: Group;
  readonly refusal: string | null;
}

function DeleteGroup({ group, refusal }: DeleteProps) {
  const client = usePeopleClient();
  const navigate = useNavigate();
  return (
    <ConfirmButton
      needs="admin"
      refusal={refusal}
      leftSection={<Trash2 size={15} aria-hidden="true" />}
      title={text.deleteTitle(group.name)}
      question={text.deleteText(group.targets.length)}
      confirm={text.deleteConfirm}
      write={() => client.deleteGroup({ group: group.id })}
      removes={['group-preview', group.id]}
      say={({ data }) => ({
        text: text.deleted(group.name),
        generation: data.generation,
        undo: () => client.createGroup({ body: inputOfGroup(group) }),
      })}
      onDone={() => void navigate({ to: '/groups', ignoreBlocker: true })}
    >
      {text.delete}
    </ConfirmButton>
  );
}

/** Saves what is given whole, and goes to the page of the group. */
function useSave(group: Group | null, onSaved: (sent: GroupInput) => void) {
  const client = usePeopleClient();
  const navigate = useNavigate();
  const readAgain = useReadGroupsAgain();
  return useWrite(
    async (draft: GroupInput) => {
      const body = { ...draft, name: draft.name.trim() };
      const saved =
        group === null
          ? await client.createGroup({ body })
          : await client.saveGroup({ group: group.id, body });
      await readAgain();
      return saved;
    },
    {
      say: ({ data }, { name }) => ({
        text: text.saved(name.trim()),
        generation: data.generation,
        undo: () =>
          group === null
            ? client.deleteGroup({ group: data.id })
            : client.saveGroup({ group: group.id, body: inputOfGroup(group) }),
      }),
      onDone({ data }, sent) {
        onSaved(sent);
        const to = { to: '/groups/$group', params: { group: String(data.id) } } as const;
        void navigate({ ...to, replace: true, ignoreBlocker: true });
      },
    },
  );
}
