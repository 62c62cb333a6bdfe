import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { LossesBox } from './LossesBox.tsx';
import { type AgentKind, joinCommandOf, type MadeCommand } from './join.ts';

const text = operatorMessages.fleet;

interface Props {
  readonly kind: AgentKind;
  readonly name: string;
  readonly owner: string;
  onJoin(made: MadeCommand): void;
}

/** Lets a host join as the agent, or removes it with its credential; one of the fleet file is removed there. */
export function AgentButtons({ kind, name, owner, onJoin }: Props) {
  return (
    <>
      <ConfirmButton
        size="compact-sm"
        aria-label={text.joinOf(name)}
        title={text.joinTitle(name)}
        question={text.joinQuestion}
        write={() => joinCommandOf(kind, name)}
        onDone={onJoin}
      >
        {text.join}
      </ConfirmButton>
      <ConfirmButton
        size="compact-sm"
        aria-label={text.removeOf(name)}
        refusal={owner === 'fleet' ? text.ofFleet : null}
        title={text.removeTitle(name)}
        initial={{ allowsLosses: false }}
        question={(form, error) => (
          <>
            <div>{text.removeText[kind]}</div>
            <LossesBox form={form} error={error} />
          </>
        )}
        write={({ allowsLosses }) => remove(kind, name, allowsLosses)}
      >
        {text.remove}
      </ConfirmButton>
    </>
  );
}

function remove(kind: AgentKind, name: string, allowsLosses: boolean): Promise<unknown> {
  const removal = { name, query: { allow_losses: allowsLosses } };
  if (kind === 'edges') return personClient.removeEdge(removal);
  return kind === 'nodes'
    ? personClient.removeNode(removal)
    : personClient.removeCollector(removal);
}
