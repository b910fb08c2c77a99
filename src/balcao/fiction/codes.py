"""The code tables of the registry, as far as fictitious companies use them.

Codes and descriptions are the official ones (`rfb-open-data.md`, sections 4.5 and 5). Some
codes in use have no description, as in the real tables: they must give a null description.
"""

from balcao.core import qualifications

REASON_WITHOUT_DESCRIPTION = "32"
COUNTRY_WITHOUT_DESCRIPTION = "150"
QUALIFICATION_WITHOUT_DESCRIPTION = "36"
ACTIVITY_NOT_INFORMED = "8888888"

NATURES = {
    "0000": "Natureza Jurídica não informada",
    "1015": "Órgão Público do Poder Executivo Federal",
    "1031": "Órgão Público do Poder Executivo Municipal",
    "1244": "Município",
    "1341": "União",
    "2011": "Empresa Pública",
    "2038": "Sociedade de Economia Mista",
    "2046": "Sociedade Anônima Aberta",
    "2054": "Sociedade Anônima Fechada",
    "2062": "Sociedade Empresária Limitada",
    "2127": "Sociedade em Conta de Participação",
    "2135": "Empresário (Individual)",
    "2143": "Cooperativa",
    "2232": "Sociedade Simples Pura",
    "2240": "Sociedade Simples Limitada",
    "2305": "Empresa Individual de Responsabilidade Limitada (de Natureza Empresária)",
    "2321": "Sociedade Unipessoal de Advocacia",
    "3085": "Condomínio Edilício",
    "3220": "Organização Religiosa",
    "3999": "Associação Privada",
    "4090": "Candidato a Cargo Político Eletivo",
    "4120": "Produtor Rural (Pessoa Física)",
    "8885": "Natureza Jurídica não informada",
}

QUALIFICATIONS = qualifications.QUALIFICATIONS

REASONS = {
    "00": "SEM MOTIVO",
    "01": "EXTINCAO POR ENCERRAMENTO LIQUIDACAO VOLUNTARIA",
    "02": "INCORPORACAO",
    "03": "FUSAO",
    "04": "CISAO TOTAL",
    "09": "NAO INICIO DE ATIVIDADE",
    "15": "INEXISTENCIA DE FATO",
    "18": "INTERRUPCAO TEMPORARIA DAS ATIVIDADES",
    "21": "PEDIDO DE BAIXA INDEFERIDA",
    "37": "BAIXA DE PRODUTOR RURAL",
    "54": "EXTINCAO - TRATAMENTO DIFERENCIADO DADO AS ME E EPP (LC 123/2006)",
    "63": "OMISSAO DE DECLARACOES",
    "67": "REGISTRO CANCELADO",
    "70": "ANULACAO POR NAO CONFIRMADO ATO DE REGISTRO DO MEI NA JUNTA COMERCIAL",
    "71": "INAPTIDAO (LEI 11.941/2009 ART.54)",
    "73": "COOMISSAO CONTUMAZ",
    "74": "INCONSISTENCIA CADASTRAL",
    "75": "OBITO DO MEI - TITULAR FALECIDO",
}

COUNTRIES = {
    "013": "AFEGANISTAO",
    "023": "ALEMANHA",
    "063": "ARGENTINA",
    "069": "AUSTRALIA",
    "072": "AUSTRIA",
    "087": "BELGICA",
    "097": "BOLIVIA",
    "105": "BRASIL",
    "137": "CAYMAN, ILHAS",
    "149": "CANADA",
    "158": "CHILE",
    "160": "CHINA, REPUBLICA POPULAR",
    "169": "COLOMBIA",
    "232": "DINAMARCA",
    "239": "EQUADOR",
    "245": "ESPANHA",
    "249": "ESTADOS UNIDOS",
    "275": "FRANCA",
    "361": "INDIA",
    "375": "IRLANDA",
    "383": "ISRAEL",
    "386": "ITALIA",
    "399": "JAPAO",
    "445": "LUXEMBURGO",
    "493": "MEXICO",
    "538": "NORUEGA",
    "573": "PAISES BAIXOS (HOLANDA)",
    "580": "PANAMA",
    "586": "PARAGUAI",
    "589": "PERU",
    "607": "PORTUGAL",
    "628": "REINO UNIDO",
    "741": "CINGAPURA",
    "764": "SUECIA",
    "767": "SUICA",
    "845": "URUGUAI",
    "850": "VENEZUELA",
    "863": "VIRGENS,ILHAS (BRITANICAS)",
}

# Code; how likely it is; the trade as it stands in names; the official description.
_ACTIVITIES = """
4781400;5.0;MODAS;Comércio varejista de artigos do vestuário e acessórios
9492800;0.05;COMITE;Atividades de organizações políticas
5611203;3.0;LANCHONETE;Lanchonetes, casas de chá, de sucos e similares
9602501;3.0;SALAO DE BELEZA;Cabeleireiros, manicure e pedicure
4712100;2.0;MERCEARIA;Comércio varejista de mercadorias em geral, com predominância de produtos alimentícios - minimercados, mercearias e armazéns
8888888;2.0;COMERCIAL;Atividade Econômica não informada
5611201;2.0;RESTAURANTE;Restaurantes e similares
4399103;1.9;OBRAS E REFORMAS;Obras de alvenaria
4930202;1.6;TRANSPORTES;Transporte rodoviário de carga, exceto produtos perigosos e mudanças, intermunicipal, interestadual e internacional
7319002;1.6;PROMOCOES;Promoção de vendas
4120400;1.5;CONSTRUTORA;Construção de edifícios
4520001;1.4;OFICINA MECANICA;Serviços de manutenção e reparação mecânica de veículos automotores
8219999;1.3;APOIO ADMINISTRATIVO;Preparação de documentos e serviços especializados de apoio administrativo não especificados anteriormente
9430800;0.2;ASSOCIACAO;Atividades de associações de defesa de direitos sociais
4772500;1.2;COSMETICOS;Comércio varejista de cosméticos, produtos de perfumaria e de higiene pessoal
4723700;1.2;BEBIDAS;Comércio varejista de bebidas
5620104;1.2;MARMITARIA;Fornecimento de alimentos preparados preponderantemente para consumo domiciliar
4321500;1.1;INSTALACOES ELETRICAS;Instalação e manutenção elétrica
4530703;1.1;AUTOPECAS;Comércio a varejo de peças e acessórios novos para veículos automotores
8599604;1.0;TREINAMENTOS;Treinamento em desenvolvimento profissional e gerencial
4744099;1.0;MATERIAIS DE CONSTRUCAO;Comércio varejista de materiais de construção em geral
4789099;1.0;COMERCIO DE VARIEDADES;Comércio varejista de outros produtos não especificados anteriormente
8112500;0.1;CONDOMINIO;Condomínios prediais
9491000;0.1;IGREJA;Atividades de organizações religiosas ou filosóficas
5320202;0.9;ENTREGAS;Serviços de entrega rápida
8650099;0.9;CLINICA;Atividades de profissionais da área de saúde não especificadas anteriormente
4721102;0.9;PADARIA E CONFEITARIA;Padaria e confeitaria com predominância de revenda
4721104;0.8;DOCERIA;Comércio varejista de doces, balas, bombons e semelhantes
4751201;0.8;INFORMATICA;Comércio varejista especializado de equipamentos e suprimentos de informática
9511800;0.8;ASSISTENCIA TECNICA;Reparação e manutenção de computadores e de equipamentos periféricos
9609299;0.8;SERVICOS PESSOAIS;Outras atividades de serviços pessoais não especificadas anteriormente
4330404;0.8;PINTURAS;Serviços de pintura de edifícios em geral
4322302;0.7;REFRIGERACAO;Instalação e manutenção de sistemas centrais de ar condicionado, de ventilação e refrigeração
8211300;0.7;SERVICOS DE ESCRITORIO;Serviços combinados de escritório e apoio administrativo
6911701;0.7;ADVOGADOS;Serviços advocatícios
6920601;0.7;CONTABILIDADE;Atividades de contabilidade
8630503;0.7;SERVICOS MEDICOS;Atividade médica ambulatorial restrita a consultas
7020400;0.7;CONSULTORIA;Atividades de consultoria em gestão empresarial, exceto consultoria técnica específica
6204000;0.6;TECNOLOGIA;Consultoria em tecnologia da informação
6201501;0.6;SISTEMAS;Desenvolvimento de programas de computador sob encomenda
6209100;0.6;SUPORTE DE TI;Suporte técnico, manutenção e outros serviços em tecnologia da informação
7490104;0.6;INTERMEDIACOES;Atividades de intermediação e agenciamento de serviços e negócios em geral, exceto imobiliários
6810202;0.6;IMOVEIS;Aluguel de imóveis próprios
6821801;0.6;IMOBILIARIA;Corretagem na compra e venda e avaliação de imóveis
6462000;0.6;PARTICIPACOES;Holdings de instituições não-financeiras
4771701;0.6;FARMACIA;Comércio varejista de produtos farmacêuticos, sem manipulação de fórmulas
4782201;0.6;CALCADOS;Comércio varejista de calçados
4711302;0.6;SUPERMERCADO;Comércio varejista de mercadorias em geral, com predominância de produtos alimentícios - supermercados
4722901;0.6;ACOUGUE;Comércio varejista de carnes - açougues
4724500;0.6;HORTIFRUTI;Comércio varejista de hortifrutigranjeiros
4754701;0.5;MOVEIS;Comércio varejista de móveis
4761003;0.5;PAPELARIA;Comércio varejista de artigos de papelaria
4789004;0.5;PET SHOP;Comércio varejista de animais vivos e de artigos e alimentos para animais de estimação
4742300;0.5;MATERIAIS ELETRICOS;Comércio varejista de material elétrico
4731800;0.5;POSTO DE COMBUSTIVEIS;Comércio varejista de combustíveis para veículos automotores
4511101;0.5;VEICULOS;Comércio a varejo de automóveis, camionetas e utilitários novos
4511102;0.5;AUTOMOVEIS;Comércio a varejo de automóveis, camionetas e utilitários usados
4520005;0.5;LAVA RAPIDO;Serviços de lavagem, lubrificação e polimento de veículos automotores
4541206;0.4;MOTOPECAS;Comércio a varejo de peças e acessórios novos para motocicletas e motonetas
4623109;0.3;ALIMENTOS PARA ANIMAIS;Comércio atacadista de alimentos para animais
4639701;0.4;DISTRIBUIDORA DE ALIMENTOS;Comércio atacadista de produtos alimentícios em geral
4644301;0.3;DISTRIBUIDORA DE MEDICAMENTOS;Comércio atacadista de medicamentos e drogas de uso humano
4651601;0.3;EQUIPAMENTOS DE INFORMATICA;Comércio atacadista de equipamentos de informática
4652400;0.3;COMPONENTES ELETRONICOS;Comércio atacadista de componentes eletrônicos e equipamentos de telefonia e comunicação
4679699;0.3;MATERIAIS EM GERAL;Comércio atacadista de materiais de construção em geral
4691500;0.3;ATACADO DE ALIMENTOS;Comércio atacadista de mercadorias em geral, com predominância de produtos alimentícios
4619200;0.4;REPRESENTACOES COMERCIAIS;Representantes comerciais e agentes do comércio de mercadorias em geral não especializado
4618499;0.3;REPRESENTACOES;Outros representantes comerciais e agentes do comércio especializado em produtos não especificados anteriormente
4923001;0.4;TAXI;Serviço de táxi
4924800;0.4;TRANSPORTE ESCOLAR;Transporte escolar
4929902;0.3;FRETAMENTO;Transporte rodoviário coletivo de passageiros, sob regime de fretamento, intermunicipal, interestadual e internacional
4930201;0.6;FRETES;Transporte rodoviário de carga, exceto produtos perigosos e mudanças, municipal
5229099;0.3;APOIO AO TRANSPORTE;Outras atividades auxiliares dos transportes terrestres não especificadas anteriormente
5510801;0.3;HOTEL;Hotéis
5590603;0.2;PENSAO;Pensões (alojamento)
5612100;0.6;AMBULANTES;Serviços ambulantes de alimentação
5611204;0.5;BAR;Bares e outros estabelecimentos especializados em servir bebidas, sem entretenimento
5620102;0.4;BUFFET;Serviços de alimentação para eventos e recepções - bufê
5911199;0.3;PRODUCOES;Atividades de produção cinematográfica, de vídeos e de programas de televisão não especificadas anteriormente
5920100;0.2;GRAVACOES;Atividades de gravação de som e de edição de música
6190601;0.2;PROVEDOR DE INTERNET;Provedores de acesso às redes de comunicações
6203100;0.2;SOFTWARE;Desenvolvimento e licenciamento de programas de computador não-customizáveis
6202300;0.2;APLICATIVOS;Desenvolvimento e licenciamento de programas de computador customizáveis
6311900;0.2;HOSPEDAGEM DE DADOS;Tratamento de dados, provedores de serviços de aplicação e serviços de hospedagem na internet
6319400;0.2;PORTAIS;Portais, provedores de conteúdo e outros serviços de informação na internet
6463800;0.2;INVESTIMENTOS;Outras sociedades de participação, exceto holdings
6612605;0.1;AGENTES DE INVESTIMENTO;Agentes de investimentos em aplicações financeiras
6622300;0.3;CORRETORA DE SEGUROS;Corretores e agentes de seguros, de planos de previdência complementar e de saúde
6619302;0.2;CORRESPONDENTES;Correspondentes de instituições financeiras
7112000;0.5;ENGENHARIA;Serviços de engenharia
7111100;0.3;ARQUITETURA;Serviços de arquitetura
7119703;0.2;DESENHO TECNICO;Serviços de desenho técnico relacionados à arquitetura e engenharia
7311400;0.4;AGENCIA;Agências de publicidade
7312200;0.2;ESPACOS DE PUBLICIDADE;Agenciamento de espaços para publicidade, exceto em veículos de comunicação
7319003;0.3;MARKETING DIRETO;Marketing direto
7420001;0.4;FOTOGRAFIA;Atividades de produção de fotografias, exceto aérea e submarina
7410202;0.2;DESIGN DE INTERIORES;Design de interiores
7711000;0.3;LOCADORA;Locação de automóveis sem condutor
7739099;0.3;LOCACOES;Aluguel de outras máquinas e equipamentos comerciais e industriais não especificados anteriormente, sem operador
7810800;0.1;RECURSOS HUMANOS;Seleção e agenciamento de mão-de-obra
7911200;0.2;TURISMO;Agências de viagens
8011101;0.2;SEGURANCA;Atividades de vigilância e segurança privada
8121400;0.4;LIMPEZA;Limpeza em prédios e em domicílios
8130300;0.2;PAISAGISMO;Atividades paisagísticas
8230001;0.6;EVENTOS;Serviços de organização de feiras, congressos, exposições e festas
8411600;0.02;PREFEITURA;Administração pública em geral
8511200;0.2;ESCOLA INFANTIL;Educação infantil - creche
8513900;0.2;ESCOLA;Ensino fundamental
8591100;0.3;ESPORTES;Ensino de esportes
8592999;0.2;ARTES;Ensino de arte e cultura não especificado anteriormente
8593700;0.2;IDIOMAS;Ensino de idiomas
8599699;0.5;CURSOS;Outras atividades de ensino não especificadas anteriormente
8610101;0.1;HOSPITAL;Atividades de atendimento hospitalar, exceto pronto-socorro e unidades para atendimento a urgências
8630504;0.4;ODONTOLOGIA;Atividade odontológica
8650004;0.3;FISIOTERAPIA;Atividades de fisioterapia
8650003;0.3;PSICOLOGIA;Atividades de psicologia e psicanálise
9001902;0.3;PRODUCAO MUSICAL;Produção musical
9313100;0.3;ACADEMIA;Atividades de condicionamento físico
9329899;0.2;LAZER;Outras atividades de recreação e lazer não especificadas anteriormente
9521500;0.3;CONSERTOS;Reparação e manutenção de equipamentos eletroeletrônicos de uso pessoal e doméstico
9529105;0.2;REPAROS;Reparação de artigos do mobiliário
9602502;0.6;ESTETICA;Atividades de estética e outros serviços de cuidados com a beleza
9609208;0.2;BANHO E TOSA;Higiene e embelezamento de animais domésticos
9700500;0.1;SERVICOS DOMESTICOS;Serviços domésticos
0111301;0.1;ARROZEIRA;Cultivo de arroz
0115600;0.2;SOJA;Cultivo de soja
0134200;0.2;CAFEEIRA;Cultivo de café
0151201;0.4;AGROPECUARIA;Criação de bovinos para corte
0151202;0.2;LATICINIOS;Criação de bovinos para leite
0161003;0.1;SERVICOS AGRICOLAS;Serviço de preparação de terreno, cultivo e colheita
0810006;0.1;MINERACAO;Extração de areia, cascalho ou pedregulho e beneficiamento associado
1012101;0.1;FRIGORIFICO;Abate de aves
1091102;0.3;PANIFICADORA;Fabricação de produtos de padaria e confeitaria com predominância de produção própria
1412601;0.4;CONFECCOES;Confecção de peças de vestuário, exceto roupas íntimas e as confeccionadas sob medida
1412602;0.2;ATELIE;Confecção, sob medida, de peças do vestuário, exceto roupas íntimas
1531901;0.1;CALCADOS DE COURO;Fabricação de calçados de couro
1813001;0.2;GRAFICA;Impressão de material para uso publicitário
2330302;0.1;ARTEFATOS DE CIMENTO;Fabricação de artefatos de cimento para uso na construção
2512800;0.2;SERRALHERIA;Fabricação de esquadrias de metal
2610800;0.1;INDUSTRIA ELETRONICA;Fabricação de componentes eletrônicos
3101200;0.2;MARCENARIA;Fabricação de móveis com predominância de madeira
3511501;0.1;ENERGIA;Geração de energia elétrica
3600601;0.1;SANEAMENTO;Captação, tratamento e distribuição de água
3811400;0.1;AMBIENTAL;Coleta de resíduos não-perigosos
4110700;0.3;INCORPORADORA;Incorporação de empreendimentos imobiliários
4211101;0.1;PAVIMENTACAO;Construção de rodovias e ferrovias
4299599;0.1;OBRAS DE ENGENHARIA;Outras obras de engenharia civil não especificadas anteriormente
4313400;0.2;TERRAPLENAGEM;Obras de terraplenagem
4322301;0.3;HIDRAULICA;Instalações hidráulicas, sanitárias e de gás
4330405;0.2;PISOS E REVESTIMENTOS;Aplicação de revestimentos e de resinas em interiores e exteriores
4391600;0.1;FUNDACOES;Obras de fundações
"""  # noqa: E501

ACTIVITIES: dict[str, str] = {}
TRADES: dict[str, str] = {}
ACTIVITY_WEIGHTS: list[tuple[str, float]] = []
for _line in _ACTIVITIES.strip().splitlines():
    _code, _weight, _trade, _description = _line.split(";")
    ACTIVITIES[_code] = _description
    TRADES[_code] = _trade
    ACTIVITY_WEIGHTS.append((_code, float(_weight)))
