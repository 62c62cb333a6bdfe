import { useNavigate } from '@tanstack/react-router';
import type { Group } from '@portcullis/client/index.ts';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Confirm } from '../../components/Confirm.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { messages } from '../../messages/index.ts';
import { useDeleteGroup } from './queries.ts';

const text = messages.group;

export function DeleteGroup({
  group,
  locked,
}: {
  readonly group: Group;
  readonly locked: string | null;
}) {
  const [isOpen, setOpen] = useState(false);
  const navigate = useNavigate();
  const remove = useDeleteGroup(group, () => void navigate({ to: '/groups', ignoreBlocker: true }));
  return (
    <>
      <RoleButton
        needs="admin"
        refusal={locked}
        variant="default"
        leftSection={<Trash2 size={15} aria-hidden="true" />}
        onClick={() => setOpen(true)}
      >
        {text.delete}
      </RoleButton>
      {isOpen && (
        <Confirm
          title={text.deleteTitle(group.name)}
          confirm={text.deleteConfirm}
          write={remove}
          onClose={() => setOpen(false)}
        >
          {text.deleteText(group.targets.length)}
        </Confirm>
      )}
    </>
  );
}
