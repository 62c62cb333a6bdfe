import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Loaded } from '../../../components/Loaded.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { PasswordPrompt } from '../../../components/PasswordPrompt.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { useAccount, useRefreshAccount } from '../queries.ts';
import { RecoveryCodes } from './RecoveryCodes.tsx';
import { TotpSetup } from './TotpSetup.tsx';

const text = messages.account.totp;
const FEW_CODES = 3;

/** The authenticator app and its recovery codes. */
export function TotpCard() {
  const account = useAccount();
  const refresh = useRefreshAccount();
  const [open, setOpen] = useState<'setup' | 'renew' | 'remove' | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const close = (): void => setOpen(null);
  const showCodes = (made: readonly string[]): void => {
    refresh();
    close();
    setCodes(made);
  };
  return (
    <section className="card card-pad" aria-label={text.title}>
      <h2>{text.title}</h2>
      <p>{text.lead}</p>
      <Loaded query={account} rows={1}>
        {({ totp, recovery_codes_left: left }) => (
          <div className="stack">
            <div className="row">
              <Pill tone={totp ? 'ok' : 'neutral'}>{totp ? text.on : text.off}</Pill>
              {totp && <span className="dim">{text.left(left)}</span>}
            </div>
            {totp && left < FEW_CODES && <Notice kind="warn">{text.few}</Notice>}
            <div className="row">
              {totp ? (
                <>
                  <Button variant="default" onClick={() => setOpen('renew')}>
                    {text.renew}
                  </Button>
                  <Button variant="subtle" color="red" onClick={() => setOpen('remove')}>
                    {text.remove}
                  </Button>
                </>
              ) : (
                <Button onClick={() => setOpen('setup')}>{text.setUp}</Button>
              )}
            </div>
          </div>
        )}
      </Loaded>
      {open === 'setup' && <TotpSetup onClose={close} onCodes={showCodes} />}
      {open === 'renew' && <RenewCodes onClose={close} onCodes={showCodes} />}
      {open === 'remove' && <RemoveTotp onClose={close} onRemoved={refresh} />}
      {codes !== null && <RecoveryCodes codes={codes} onClose={() => setCodes(null)} />}
    </section>
  );
}

interface RenewProps {
  onClose(): void;
  onCodes(codes: readonly string[]): void;
}

function RenewCodes({ onClose, onCodes }: RenewProps) {
  const renew = useMutation({
    mutationFn: async (password: string) =>
      (await personClient.renewRecoveryCodes({ body: { password } })).data.recovery_codes,
    onSuccess: onCodes,
  });
  return (
    <PasswordPrompt title={text.renew} confirm={text.renew} write={renew} onClose={onClose}>
      <div>{text.renewText}</div>
    </PasswordPrompt>
  );
}

function RemoveTotp({ onClose, onRemoved }: { onClose(): void; onRemoved(): void }) {
  const remove = useMutation({
    mutationFn: (password: string) => personClient.removeTotp({ body: { password } }),
    onSuccess() {
      onRemoved();
      onClose();
    },
  });
  return (
    <PasswordPrompt title={text.removeTitle} confirm={text.remove} write={remove} onClose={onClose}>
      <div>{text.removeText}</div>
    </PasswordPrompt>
  );
}
