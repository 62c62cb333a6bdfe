import { Link, useParams } from '@tanstack/react-router';
import { Layers } from 'lucide-react';
import { EmptyState } from '../../components/EmptyState.tsx';
import { Loaded } from '../../components/Loaded.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { groupEditorMessages } from '../../messages/group-editor.ts';
import { messages } from '../../messages/index.ts';
import { GroupEditor } from './GroupEditor.tsx';
import { useGroups } from './queries.ts';

const text = groupEditorMessages.group;

export function GroupPage() {
  const { group } = useParams({ from: '/groups/$group' });
  return (
    <RoleGate needs="person">
      {group === 'new' ? <GroupEditor key="new" group={null} /> : <Known id={Number(group)} />}
    </RoleGate>
  );
}

function Known({ id }: { readonly id: number }) {
  const groups = useGroups();
  const group = groups.data?.find((each) => each.id === id);
  if (group !== undefined) return <GroupEditor key={id} group={group} />;
  return (
    <>
      <PageHeader title={messages.groups.title} />
      <section className="card">
        <Loaded query={groups}>
          {() => (
            <EmptyState icon={Layers} title={text.missing.title} text={text.missing.text}>
              <Link to="/groups">{text.missing.back}</Link>
            </EmptyState>
          )}
        </Loaded>
      </section>
    </>
  );
}
