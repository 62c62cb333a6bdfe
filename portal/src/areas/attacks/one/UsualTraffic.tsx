import { CircleCheck, Undo2 } from 'lucide-react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { formatMoment } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import type { AttackView } from '../queries.ts';

const text = messages.attack.usual;

/** Asks whether an attack that lasts is usual traffic, or shows the name of the person that accepted it. */
export function UsualTraffic({ view }: { readonly view: AttackView }) {
  const { client } = useSession();
  const { attack, usual, accepted } = view;
  if (accepted !== null) {
    return (
      <Notice kind="ok">
        <p>
          {text.accepted(
            accepted.by,
            formatMoment(new Date(accepted.at)),
            accepted.pps,
            accepted.mbps,
          )}
        </p>
        <ConfirmButton
          needs="member"
          refusal={null}
          leftSection={<Undo2 size={15} aria-hidden="true" />}
          title={text.undoTitle}
          question={text.undoText}
          confirm={text.undo}
          write={() => client.forgetTraffic({ attack: attack.id })}
          say={() => ({ text: text.undone, generation: null })}
        >
          {text.undo}
        </ConfirmButton>
      </Notice>
    );
  }
  if (usual === null) return null;
  return (
    <Notice kind="info">
      <p>{text.looks(usual.pps, usual.mbps)}</p>
      <ConfirmButton
        needs="member"
        refusal={null}
        leftSection={<CircleCheck size={15} aria-hidden="true" />}
        title={text.acceptTitle}
        question={text.acceptText(usual.pps, usual.mbps)}
        confirm={text.accept}
        write={() => client.acceptTraffic({ attack: attack.id })}
        say={() => ({
          text: text.done,
          generation: null,
          undo: () => client.forgetTraffic({ attack: attack.id }),
        })}
      >
        {text.accept}
      </ConfirmButton>
    </Notice>
  );
}
