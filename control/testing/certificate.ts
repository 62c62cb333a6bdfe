/**
 * A certificate for localhost that nobody trusts, and its key: for tests of TLS alone. Valid for a hundred years:
 *
 *     openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=localhost \
 *       -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout key.pem -out cert.pem
 */
export const TEST_CERTIFICATE = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUAo6Eqs/DLPAA8wXS+nQoZ0Kon+EwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA4MzY1NloYDzIxMjYxMDI4
MDgzNjU2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQDLG6QPLih2oCaCttYI17n9pETCtlbVgi16SCeCXNoPe18OBS2xrWv
8I9xxhYpMoWo5rx4T1KymlsmmF2X6axAo28wbTAdBgNVHQ4EFgQU7wK+Eo60zixd
UD0IjR+yaawm/nAwHwYDVR0jBBgwFoAU7wK+Eo60zixdUD0IjR+yaawm/nAwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgDrRLKsj+1w2tBjxGTNgQLqbiaihtL5N34QeyXPevKM0CIQCw
yJWwcY23wKszO9VwP2csdRUdvUS7g1QFkjVeg5QZ0A==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqrwgOp8flindazaT
5NtyT1FMtMFaIeN0I953xKBczOyhRANCAAQDLG6QPLih2oCaCttYI17n9pETCtlb
Vgi16SCeCXNoPe18OBS2xrWv8I9xxhYpMoWo5rx4T1KymlsmmF2X6axA
-----END PRIVATE KEY-----
`,
} as const;
