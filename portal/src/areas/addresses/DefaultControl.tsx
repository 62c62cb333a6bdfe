import { Button, Modal } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { ShieldCheck, ShieldOff } from 'lucide-react';
import { useState } from 'react';
import { Notice } from '../../components/Notice.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';
import { DefaultPreview } from './DefaultPreview.tsx';
import { useRefresh } from './queries.ts';

const text = messages.default;

interface Props {
  readonly ip: string;
  readonly value: 'accept' | 'deny';
}

/** What happens to a packet that no rule matches; a change is explained before it is made. */
export function DefaultControl({ ip, value }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { client } = useSession();
  const refresh = useRefresh(ip);
  const next = value === 'accept' ? 'deny' : 'accept';
  const change = useMutation({
    mutationFn: () => client.setDefault({ body: { target: ip, default: next } }),
    onSuccess() {
      refresh();
      setOpen(false);
    },
  });
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
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={text.title[next]}
        size="lg"
        closeButtonProps={{ 'aria-label': messages.close }}
      >
        <div className="stack">
          <Notice kind={next === 'deny' ? 'warn' : 'info'}>{text.explained[next]}</Notice>
          {next === 'deny' && <DefaultPreview ip={ip} />}
          {change.error !== null && <Notice kind="bad">{change.error.message}</Notice>}
          <div className="row">
            <div className="row-end">
              <Button variant="default" onClick={() => setOpen(false)}>
                {messages.cancel}
              </Button>
              <Button data-autofocus loading={change.isPending} onClick={() => change.mutate()}>
                {text.confirm[next]}
              </Button>
            </div>
          </div>
        </div>
      </Modal>
    </>
  );
}
