import { ShieldOff } from 'lucide-react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import type { AttackView } from '../queries.ts';

const text = messages.attack;

/** Withdraws what is done against an attack, after it has said what that means. */
export function CancelButton({ view }: { readonly view: AttackView }) {
  const { client } = useSession();
  const { id, status } = view.attack;
  const ended = status === 'ended' ? text.cancelEnded : null;
  return (
    <ConfirmButton
      needs="member"
      refusal={view.cancelled_at === null ? ended : text.cancelAlready}
      leftSection={<ShieldOff size={15} aria-hidden="true" />}
      title={text.cancelTitle}
      question={text.cancelText}
      confirm={text.cancelConfirm}
      write={() => client.cancelMitigations({ attack: id })}
      say={({ data }) => ({ text: text.cancelDone, generation: data.generation })}
    >
      {text.cancel}
    </ConfirmButton>
  );
}
