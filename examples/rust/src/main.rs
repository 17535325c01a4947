//! Receptor de avisos de apientidades, con la biblioteca oficial de Standard Webhooks.
//!
//!     RECEPTOR_CERT=cadena.pem RECEPTOR_CLAVE=clave.pem RECEPTOR_SECRETO='whsec_…' cargo run --release

use std::collections::{HashSet, VecDeque};
use std::env;
use std::error::Error;
use std::net::SocketAddr;
use std::panic::catch_unwind;
use std::sync::{mpsc, Arc, Mutex};
use std::time::Duration;

use axum::body::{to_bytes, Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::Router;
use axum_server::tls_rustls::RustlsConfig;
use hyper_util::rt::TokioTimer;
use serde_json::Value;
use standardwebhooks::Webhook;

const MAXIMO: usize = 1_000_000; // bytes del cuerpo: ningún aviso llega a tanto
const RECORDADOS: usize = 10_000; // avisos que se recuerdan, para no procesar dos veces una repetición

// El plazo para recibir las cabeceras, y después otro igual para el cuerpo. Así, quien envía poco a poco no ocupa una
// conexión para siempre.
const PLAZO: Duration = Duration::from_secs(20);

struct Receptor {
    verificadores: Vec<Webhook>,
    vistos: Mutex<(HashSet<String>, VecDeque<String>)>,
    pendientes: mpsc::Sender<(String, Bytes)>,
}

/// Una variable en blanco, o con solo «whsec_», cuenta como si faltara: con una clave vacía podría firmar cualquiera.
fn variable(nombre: &str) -> Option<String> {
    env::var(nombre)
        .ok()
        .filter(|valor| !["", "whsec_"].contains(&valor.trim()))
}

fn obligatoria(nombre: &str) -> Result<String, String> {
    variable(nombre).ok_or(format!(
        "{nombre} falta o está incompleta: póngala como dicen las primeras líneas de main.rs"
    ))
}

/// La biblioteca descodifica el base64 de un secreto whsec_…; en otro caso, la clave son los bytes del secreto.
fn verificador(secreto: String) -> Result<Webhook, Box<dyn Error>> {
    if secreto.starts_with("whsec_") {
        Ok(Webhook::new(&secreto)?)
    } else {
        Ok(Webhook::from_bytes(secreto.into_bytes())?)
    }
}

impl Receptor {
    /// Comprueba la firma de los bytes tal como llegaron, y que `webhook-timestamp` no difiera en más de 5 minutos de la
    /// hora de este equipo.
    fn es_autentico(&self, cuerpo: &[u8], cabeceras: &HeaderMap) -> bool {
        self.verificadores
            .iter()
            .any(|webhook| webhook.verify(cuerpo, cabeceras).is_ok())
    }

    /// Guarda el aviso solo la primera vez que llega. En su programa: un INSERT en su base de datos, con `webhook-id` como
    /// clave única, para no procesar dos veces una repetición ni perder avisos en un corte de luz.
    fn guardar(&self, identificador: &str, cuerpo: Bytes) -> Result<(), Box<dyn Error>> {
        let (vistos, orden) = &mut *self.vistos.lock().unwrap();
        if vistos.contains(identificador) {
            return Ok(());
        }
        // Solo falla si el hilo de `trabajar` ha terminado: entonces no se acepta el aviso.
        self.pendientes.send((identificador.to_string(), cuerpo))?;
        vistos.insert(identificador.to_string());
        orden.push_back(identificador.to_string());
        if orden.len() > RECORDADOS {
            vistos.remove(&orden.pop_front().unwrap());
        }
        Ok(())
    }
}

/// Se ejecuta en otro hilo, y la respuesta no lo espera. Aquí va lo que su programa haga con el aviso.
fn procesar(identificador: &str, aviso: &Value) {
    println!(
        "procesado {identificador} {} {}",
        aviso["evento"].as_str().expect("falta evento"),
        aviso.get("data").expect("falta data")
    );
}

/// Si un aviso no es JSON, o si `procesar` falla, escribe el fallo y sigue con los avisos siguientes.
fn trabajar(pendientes: mpsc::Receiver<(String, Bytes)>) {
    for (identificador, cuerpo) in pendientes {
        let leer = || serde_json::from_slice(&cuerpo).expect("no es JSON");
        if catch_unwind(|| procesar(&identificador, &leer())).is_err() {
            eprintln!("no se ha podido procesar {identificador}"); // Rust ya ha escrito por qué
        }
    }
}

async fn atender(
    State(receptor): State<Arc<Receptor>>,
    cabeceras: HeaderMap,
    cuerpo: Body,
) -> StatusCode {
    let cuerpo = match tokio::time::timeout(PLAZO, to_bytes(cuerpo, MAXIMO)).await {
        Ok(Ok(cuerpo)) => cuerpo,
        Ok(Err(_)) => return StatusCode::PAYLOAD_TOO_LARGE,
        Err(_) => return StatusCode::REQUEST_TIMEOUT,
    };
    if !receptor.es_autentico(&cuerpo, &cabeceras) {
        return StatusCode::UNAUTHORIZED;
    }
    let Some(Ok(identificador)) = cabeceras.get("webhook-id").map(|valor| valor.to_str()) else {
        return StatusCode::BAD_REQUEST;
    };
    match receptor.guardar(identificador, cuerpo) {
        Ok(()) => StatusCode::NO_CONTENT,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut verificadores = vec![verificador(obligatoria("RECEPTOR_SECRETO")?)?];
    // Mientras se cambia el secreto valen los dos: el nuevo y el anterior.
    if let Some(anterior) = variable("RECEPTOR_SECRETO_ANTERIOR") {
        verificadores.push(verificador(anterior)?);
    }
    let (pendientes, cola) = mpsc::channel();
    std::thread::spawn(move || trabajar(cola));

    let receptor = Arc::new(Receptor {
        verificadores,
        vistos: Mutex::default(),
        pendientes,
    });
    let rutas = Router::new().fallback(atender).with_state(receptor);
    let (certificado, clave) = (
        obligatoria("RECEPTOR_CERT")?,
        obligatoria("RECEPTOR_CLAVE")?,
    );
    let tls = RustlsConfig::from_pem_file(certificado, clave).await?;
    let puerto = env::var("RECEPTOR_PUERTO")
        .unwrap_or("8443".into())
        .parse()?;
    println!("escuchando en el puerto {puerto}");
    let direccion = SocketAddr::from(([0, 0, 0, 0], puerto));
    let mut servidor = axum_server::bind_rustls(direccion, tls).http1_only();
    servidor
        .http_builder()
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(PLAZO);
    servidor.serve(rutas.into_make_service()).await?;
    Ok(())
}
