import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ShieldOff } from 'lucide-react';
import { useState } from 'react';
import { Confirm } from '../../../components/Confirm.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { showAccepted } from '../../../components/show-accepted.ts';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import type { AttackView } from '../queries.ts';

const text = messages.attack;

/** Withdraws what is done against an attack, after it has said what that means. */
export function CancelButton({ view }: { readonly view: AttackView }) {
  const [isOpen, setOpen] = useState(false);
  const { client } = useSession();
  const queries = useQueryClient();
  const { id, status } = view.attack;
  const cancel = useMutation({
    mutationFn: () => client.cancelMitigations({ attack: id }),
    onSuccess({ data: { generation } }) {
      void queries.invalidateQueries({ queryKey: ['attack', id] });
      if (generation !== null) showAccepted(client, text.cancelDone, generation);
    },
  });
  const refusal =
    view.cancelled_at !== null ? text.cancelAlready : status === 'ended' ? text.cancelEnded : null;
  return (
    <>
      <RoleButton
        needs="member"
        refusal={refusal}
        variant="default"
        leftSection={<ShieldOff size={15} aria-hidden="true" />}
        onClick={() => setOpen(true)}
      >
        {text.cancel}
      </RoleButton>
      {isOpen && (
        <Confirm
          title={text.cancelTitle}
          confirm={text.cancelConfirm}
          write={cancel}
          onClose={() => setOpen(false)}
        >
          {text.cancelText}
        </Confirm>
      )}
    </>
  );
}
