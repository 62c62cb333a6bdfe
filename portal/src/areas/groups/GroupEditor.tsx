import { TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { Group, GroupInput } from '@portcullis/client/index.ts';
import { useMemo, useState } from 'react';
import { Notice } from '../../components/Notice.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { messages } from '../../messages/index.ts';
import { useRefusal } from '../../session/rights.ts';
import { DeleteGroup } from './DeleteGroup.tsx';
import { FiltersSection } from './FiltersSection.tsx';
import { EMPTY_GROUP, findWrongTarget, inputOfGroup, isSameGroup } from './group-draft.ts';
import { LeaveGuard } from './LeaveGuard.tsx';
import { PreviewPanel } from './PreviewPanel.tsx';
import { useSaveGroup } from './queries.ts';
import { RulesSection } from './RulesSection.tsx';
import { TargetsSection } from './TargetsSection.tsx';

const text = messages.group;

/** A group with all that it has; null: a new one. Nothing happens before it is saved. */
export function GroupEditor({ group }: { readonly group: Group | null }) {
  const stored = useMemo(() => (group === null ? EMPTY_GROUP : inputOfGroup(group)), [group]);
  const [edited, setEdited] = useState<GroupInput | null>(null);
  const draft = edited ?? stored;
  const change = (part: Partial<GroupInput>): void => setEdited({ ...draft, ...part });
  const save = useSaveGroup(group?.id ?? null);
  const navigate = useNavigate();
  const refusal = useRefusal('admin', true);
  const locked = group?.owner === 'fleet' ? text.locked.fleet : refusal;
  const isSame = isSameGroup(draft, stored);
  const wrong = findWrongTarget(draft.targets);
  const store = (): void =>
    save.mutate(
      { ...draft, name: draft.name.trim() },
      {
        onSuccess({ data }) {
          setEdited(null);
          const to = { to: '/groups/$group', params: { group: String(data.id) } } as const;
          void navigate({ ...to, replace: true, ignoreBlocker: true });
        },
      },
    );
  return (
    <>
      <PageHeader
        title={group?.name ?? text.newTitle}
        above={{ to: '/groups', title: messages.groups.title }}
      >
        {group !== null && <DeleteGroup group={group} locked={locked} />}
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
          <TargetsSection
            targets={draft.targets}
            wrong={wrong}
            isLocked={locked !== null}
            onChange={(targets) => change({ targets })}
          />
          <RulesSection
            rules={draft.rules}
            isLocked={locked !== null}
            onChange={(rules) => change({ rules })}
          />
          <FiltersSection
            filters={draft.filters}
            isLocked={locked !== null}
            onChange={(filters) => change({ filters })}
          />
        </div>
        {locked === null && (
          <PreviewPanel
            group={group?.id ?? null}
            draft={draft}
            isSame={isSame}
            isValid={wrong === null && draft.name.trim() !== ''}
            save={save}
            onSave={store}
            onDiscard={() => setEdited(null)}
          />
        )}
      </div>
      <LeaveGuard isDirty={!isSame && !save.isPending} />
    </>
  );
}
