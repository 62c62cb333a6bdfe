import { notifications } from '@mantine/notifications';
import type { PowerSignal } from '@portcullis/core/game-servers/power.ts';
import { CircleStop, OctagonX, Play, RotateCw } from 'lucide-react';
import { useState } from 'react';
import { Confirm } from '../../components/Confirm.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { messages } from '../../messages/index.ts';
import { type Powered, powerRefusal, SIGNALS } from './power.ts';
import { usePower } from './queries.ts';

const text = messages.server.power;
const ICONS = { start: Play, stop: CircleStop, restart: RotateCw, kill: OctagonX } as const;

interface Props {
  readonly uuid: string;
  readonly name: string;
  readonly server: Powered;
}

/** Each is enabled where the node would do something, and says why not otherwise. */
export function PowerButtons(props: Props) {
  return (
    <div className="row" role="group" aria-label={text.title}>
      {SIGNALS.map((signal) => (
        <PowerButton key={signal} {...props} signal={signal} />
      ))}
    </div>
  );
}

function PowerButton({ uuid, name, server, signal }: Props & { readonly signal: PowerSignal }) {
  const [isAsking, setAsking] = useState(false);
  const power = usePower(uuid, signal, () => show(text.sent[signal], 'blue'));
  const Icon = ICONS[signal];
  const press = (): void => {
    if (signal === 'kill') setAsking(true);
    else {
      power.mutate(undefined, {
        onError: ({ message }) => show(`${text.refused}: ${message}`, 'red'),
      });
    }
  };
  return (
    <>
      <RoleButton
        needs="member"
        refusal={powerRefusal(signal, server)}
        variant={signal === 'start' ? 'filled' : 'default'}
        leftSection={<Icon size={15} aria-hidden="true" />}
        loading={power.isPending}
        onClick={press}
      >
        {text.signals[signal]}
      </RoleButton>
      {isAsking && (
        <Confirm
          title={text.killTitle(name)}
          confirm={text.killConfirm}
          write={power}
          onClose={() => setAsking(false)}
        >
          {text.killText}
        </Confirm>
      )}
    </>
  );
}

function show(message: string, color: string): void {
  notifications.show({ message, color, closeButtonProps: { 'aria-label': messages.close } });
}
