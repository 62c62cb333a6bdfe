import { ShieldCheck, ShieldOff } from 'lucide-react';
import { useState } from 'react';
import { Notice } from '../../components/Notice.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { WriteDialog } from '../../components/forms/WriteDialog.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';
import { DefaultPreview } from './DefaultPreview.tsx';

const text = messages.default;

interface Props {
  readonly ip: string;
  readonly value: 'accept' | 'deny';
}

/** The fate of a packet that no rule matches; a change is explained before it is made. */
export function DefaultControl({ ip, value }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { client } = useSession();
  const next = value === 'accept' ? 'deny' : 'accept';
  const Icon = value === 'deny' ? ShieldCheck : ShieldOff;
  return (
    <>
      <RoleButton
        needs="member"
        variant="default"
        leftSection={<Icon size={15} aria-hidden="true" />}
        onClick={() => setOpen(true)}
      >
        {text.button[value]}
      </RoleButton>
      {isOpen && (
        <WriteDialog
          title={text.title[next]}
          size="lg"
          submit={text.confirm[next]}
          write={() => client.setDefault({ body: { target: ip, default: next } })}
          say={({ response }) => ({
            text: text.changed[next],
            generation: response.generation,
            undo: () => client.setDefault({ body: { target: ip, default: value } }),
          })}
          onClose={() => setOpen(false)}
        >
          <div className="stack">
            <Notice kind={next === 'deny' ? 'warn' : 'info'}>{text.explained[next]}</Notice>
            {next === 'deny' && <DefaultPreview ip={ip} />}
          </div>
        </WriteDialog>
      )}
    </>
  );
}
