import { Button } from '@mantine/core';
import type { TotpSetup as Setup } from '@portcullis/client/index.ts';
import { useState } from 'react';
import { Card } from '../../../components/Card.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { PasswordDialog } from '../PasswordDialog.tsx';
import { useAccount } from '../queries.ts';
import { TotpSetup } from './TotpSetup.tsx';

const text = messages.account.totp;
const FEW_CODES = 3;
const NO_PASSWORD = { password: '' };

/** The authenticator app and its recovery codes. */
export function TotpCard() {
  const account = useAccount();
  const [open, setOpen] = useState<'setup' | 'renew' | 'remove' | null>(null);
  const [setup, setSetup] = useState<Setup['data'] | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const close = (): void => setOpen(null);
  return (
    <Card title={text.title} lead={text.lead}>
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
      {open === 'setup' && (
        <PasswordDialog
          title={text.setUp}
          submit={text.next}
          initial={NO_PASSWORD}
          write={(body) => personClient.beginTotp({ body })}
          onDone={({ data }) => setSetup(data)}
          onClose={close}
        >
          {text.setUpText}
        </PasswordDialog>
      )}
      {setup !== null && (
        <TotpSetup setup={setup} onClose={() => setSetup(null)} onCodes={setCodes} />
      )}
      {open === 'renew' && (
        <PasswordDialog
          title={text.renew}
          submit={text.renew}
          initial={NO_PASSWORD}
          write={(body) => personClient.renewRecoveryCodes({ body })}
          onDone={({ data }) => setCodes(data.recovery_codes)}
          onClose={close}
        >
          {text.renewText}
        </PasswordDialog>
      )}
      {open === 'remove' && (
        <PasswordDialog
          title={text.removeTitle}
          submit={text.remove}
          initial={NO_PASSWORD}
          write={(body) => personClient.removeTotp({ body })}
          onClose={close}
        >
          {text.removeText}
        </PasswordDialog>
      )}
      {codes !== null && (
        <SecretOnce
          title={text.codesTitle}
          secret={codes.join('\n')}
          onClose={() => setCodes(null)}
        >
          {text.codesText}
        </SecretOnce>
      )}
    </Card>
  );
}
